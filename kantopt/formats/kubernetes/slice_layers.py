"""Slices of pod sets on several levels at once, as Kueue has them: each within those before it."""

from __future__ import annotations

from typing import Any

from kantopt.formats.kubernetes.demands import BEYOND, Wish
from kantopt.schema.quantity import whole_number

LAYERS = "kueue.x-k8s.io/podset-slice-required-topology-constraints"
"""Annotation that lists them."""


def with_layers(wish: Wish, layers: Any) -> Wish:
    """Return a wish with the slices of the first layer; whether that is all is told by ``BEYOND``.

    Finer layers are not modelled, nor slices of several sizes. What is no list says nothing.
    """
    if not isinstance(layers, list) or not layers:
        return wish
    first = layers[0] if isinstance(layers[0], dict) else {}
    level, size = first.get("topology"), whole_number(str(first.get("size", "")))
    if not isinstance(level, str) or not level or not size or size < 1:
        return {**wish, BEYOND: 1}
    slices: Wish = {"pod_set_slice_required_topology": level, "pod_set_slice_size": size}
    return {**wish, **slices, **({BEYOND: 1} if len(layers) > 1 else {})}
