"""Whom a Reservation of Koordinator's is for, and which of them a pod asks for itself."""

from __future__ import annotations

import json
from typing import Any

from kantopt.errors import Problem
from kantopt.formats.kubernetes_nodes import read_selector, read_term
from kantopt.formats.pods import Pod
from kantopt.formats.view import View
from kantopt.schema.eligibility import affinity_matches
from kantopt.schema.selection import selector_matches
from kantopt.schema.snapshot import Node

OURS = "kantopt/reservation"
"""Label of reservations that a plan makes (``render/koordinator.py``); the next makes others."""
_AFFINITY = "scheduling.koordinator.sh/reservation-affinity"
_TERMS = "requiredDuringSchedulingIgnoredDuringExecution"


def is_owner(pod: Pod, reservation: View) -> bool:
    """Whether a pod is one that a reservation names: one of its owners, by all that it tells."""
    return any(_is(pod, owner) for owner in reservation.at("spec").list("owners"))


def _is(pod: Pod, owner: View) -> bool:
    wanted, controller = owner.at("object"), owner.at("controller")
    told = (
        (wanted.text("namespace"), pod.namespace),
        (wanted.text("name"), pod.ref.name),
        (wanted.text("uid"), pod.ref.uid),
        (controller.text("namespace"), pod.namespace),
        (controller.text("kind"), pod.owner_kind),
        (controller.text("name"), pod.owner_name),
        (controller.text("uid"), pod.owner_uid),
    )
    if "controller" in owner and not pod.owner_name:
        return False
    if any(word and word != own for word, own in told):
        return False
    if "labelSelector" not in owner:
        return True
    return selector_matches(read_selector(owner.at("labelSelector")), pod.labels)


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
    if not {*wish} <= {"name", "reservationSelector", "tolerations", _TERMS}:
        return False
    problems: list[Problem] = []
    required = View(wish, "", (), problems).at(_TERMS)
    terms = [read_term(term) for term in required.list("reservationSelectorTerms")]
    if problems or (_TERMS in wish and not terms):
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
    try:
        found = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"unknown": text}
