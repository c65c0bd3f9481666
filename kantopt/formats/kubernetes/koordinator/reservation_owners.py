"""Whom a Reservation of Koordinator's is for, and which of them a pod asks for itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kantopt.errors import Problem
from kantopt.formats.kubernetes.nodes import REQUIRED, read_selector, read_term
from kantopt.formats.kubernetes.pods import Pod
from kantopt.formats.view import View, json_of
from kantopt.schema.dump import dump_data
from kantopt.schema.eligibility import affinity_matches
from kantopt.schema.reservation import OwnedBy, ReservedFor
from kantopt.schema.selection import selector_matches
from kantopt.schema.snapshot import Node

OURS = "kantopt/reservation"
"""Label of reservations that a plan makes (``render/koordinator.py``); the next makes others."""
_AFFINITY = "scheduling.koordinator.sh/reservation-affinity"


def read_owners(reservation: View) -> tuple[ReservedFor, ...]:
    """Read whom a reservation is for."""
    return tuple(map(_read_owner, reservation.at("spec").list("owners")))


def _read_owner(owner: View) -> ReservedFor:
    wanted, controller = owner.at("object"), owner.at("controller")
    selector = read_selector(owner.at("labelSelector")) if "labelSelector" in owner else None
    keeper = None
    if "controller" in owner:
        keeper = OwnedBy(
            namespace=controller.text("namespace"),
            api_version=controller.text("apiVersion"),
            kind=controller.text("kind"),
            name=controller.text("name"),
            uid=controller.text("uid"),
        )
    return ReservedFor(
        namespace=wanted.text("namespace"),
        name=wanted.text("name"),
        uid=wanted.text("uid"),
        controller=keeper,
        label_selector=selector,
    )


def owner_objects(owners: Iterable[ReservedFor]) -> list[dict[str, Any]]:
    """Write owners as a reservation has them; :func:`read_owners` reads the same again."""
    return list(map(_owner_object, owners))


def _owner_object(owner: ReservedFor) -> dict[str, Any]:
    made: dict[str, Any] = {}
    told = {"namespace": owner.namespace, "name": owner.name, "uid": owner.uid}
    if any(told.values()):
        told = {"apiVersion": "v1", "kind": "Pod", **told}
        made["object"] = {key: word for key, word in told.items() if word}
    if owner.controller is not None:
        keeper = owner.controller
        told = {
            "apiVersion": keeper.api_version,
            "kind": keeper.kind,
            "name": keeper.name,
            "uid": keeper.uid,
            "namespace": keeper.namespace,
        }
        # Two of them may not be missing in an owner reference, as a schema has it.
        needed = ("apiVersion", "kind", "name", "uid")
        made["controller"] = {key: word for key, word in told.items() if word or key in needed}
    if owner.label_selector is not None:
        made["labelSelector"] = dump_data(owner.label_selector)
    return made


def is_owner(pod: Pod, owners: Iterable[ReservedFor]) -> bool:
    """Whether a pod is one of those that a reservation is for, by all that it tells of one."""
    return any(_is(pod, owner) for owner in owners)


def _is(pod: Pod, owner: ReservedFor) -> bool:
    told = [
        (owner.namespace, pod.namespace),
        (owner.name, pod.ref.name),
        (owner.uid, pod.ref.uid),
    ]
    if owner.controller is not None:
        if not pod.owner_name:
            return False
        told += [
            (owner.controller.namespace, pod.namespace),
            (owner.controller.kind, pod.owner_kind),
            (owner.controller.name, pod.owner_name),
            (owner.controller.uid, pod.owner_uid),
        ]
    if any(word and word != own for word, own in told):
        return False
    return owner.label_selector is None or selector_matches(owner.label_selector, pod.labels)


def wants_one(pod: Pod) -> bool:
    """Whether a pod starts nowhere but in a reservation that is not of an earlier plan."""
    wish = _wish(pod)
    selector = wish.get("reservationSelector")
    ours = (
        {*wish} == {"reservationSelector"} and isinstance(selector, dict) and {*selector} == {OURS}
    )
    return bool(wish) and not ours


def admits(pod: Pod, reservation: View) -> bool:
    """Whether a reservation is one of those that a pod asks for; most ask for none.

    It is known by name and by labels, and meets one of the terms, where there are any.
    """
    wish = _wish(pod)
    name, selector = wish.get("name"), wish.get("reservationSelector") or {}
    if not {*wish} <= {"name", "reservationSelector", "tolerations", REQUIRED}:
        return False
    problems: list[Problem] = []
    required = View(wish, "", (), problems).at(REQUIRED)
    terms = [read_term(term) for term in required.list("reservationSelectorTerms")]
    if problems or (REQUIRED in wish and not terms):
        return False
    own = reservation.at("metadata")
    place = Node.model_construct(name=own.text("name"), labels=own.words("labels"))
    return name in (None, "", place.name) and (
        isinstance(selector, dict)
        and all(place.labels.get(key) == v for key, v in selector.items())
        and affinity_matches(terms, place)
    )


def _wish(pod: Pod) -> dict[str, Any]:
    """Return what a pod's annotation asks for; what is not read counts as asked for as well."""
    text = pod.annotations.get(_AFFINITY, "")
    found = json_of(text) if text else {}
    return found if isinstance(found, dict) else {"unknown": text}
