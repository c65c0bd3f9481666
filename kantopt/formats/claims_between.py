"""Resource claims of two dumps, held as they were when pods got their places in between."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from kantopt.formats.owners import Raw, view_of
from kantopt.formats.view import View

GROUP, KIND = "resource.k8s.io", "ResourceClaim"


def claims_between(
    before: Iterable[Raw],
    after: Iterable[Raw],
    *,
    waiting: Collection[str],
    leaving: Collection[str],
) -> Sequence[Raw]:
    """Return the claims as they are since, but for those of pods that are judged.

    Claims that only pods hold which are put back to where they waited are not allocated yet:
    else nothing but the devices that they got would stand open to them. Pods that ran at first
    and do no more hold their claims still. Other claims that are gone hold nothing.

    Parameters
    ----------
    before, after
        The objects of both dumps.
    waiting
        Uids of pods that wait, or are not there yet, as the two dumps are put together.
    leaving
        Uids of pods that run there as they did at first, and did not stay.
    """
    first, later = _claims(before), _claims(after)
    found = []
    for key in {**first, **later}:
        was, now = first.get(key), later.get(key)
        if was is not None and not _users(was).isdisjoint(leaving):
            found.append(dict(was.raw))
        elif now is not None:
            users = _users(now)
            if not users or not users <= set(waiting):
                found.append(dict(now.raw))
            elif was is not None and "allocation" in was.at("status"):
                found.append(dict(was.raw))
            else:
                found.append({**now.raw, "status": {}})
    return found


def is_claim(item: Raw) -> bool:
    """Whether an object is a resource claim."""
    view = view_of(item)
    group = view.text("apiVersion").rpartition("/")[0]
    return (group, view.text("kind")) == (GROUP, KIND)


def _claims(objects: Iterable[Raw]) -> dict[tuple[str, str], View]:
    views = [view_of(item) for item in objects if is_claim(item)]
    return {
        (view.at("metadata").text("namespace"), view.at("metadata").text("name")): view
        for view in views
    }


def _users(claim: View) -> set[str]:
    return {user.text("uid") for user in claim.at("status").list("reservedFor")}
