"""Which resource claims a pod has: those that it names, and those generated for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kantopt.formats.view import Key, View


@dataclass(frozen=True, slots=True)
class PodClaim:
    """A claim that a pod refers to."""

    key: Key
    """Namespace and name; no name if it is yet to be generated."""
    own: bool
    """Whether it is generated for this pod from a template."""


def claims_of(pod: View) -> Iterator[PodClaim]:
    """Yield the claims of a pod."""
    generated = {
        item.text("name"): item.text("resourceClaimName")
        for item in pod.at("status").list("resourceClaimStatuses")
    }
    for item in pod.at("spec").list("resourceClaims"):
        name = item.text("resourceClaimName")
        own = not name and "resourceClaimTemplateName" in item
        if own and generated.get(item.text("name")) == "":
            continue  # Its template turned out to need no claim.
        yield PodClaim((pod.key[0], generated.get(item.text("name"), "") if own else name), own)
