"""What older ``kubectl`` asks before it dares a trial run: does PATCH of a kind take ``dryRun``?

It reads no JSON there, so this is the OpenAPI document as protobuf, written by hand.
"""

from __future__ import annotations

TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


def openapi(*kinds: str) -> bytes:
    """Return a document in which PATCH of some kinds of the group "" takes ``dryRun``."""
    paths = b"".join(_field(2, _path(kind)) for kind in kinds)
    return _field(1, b"2.0") + _field(8, paths)


def _path(kind: str) -> bytes:
    named = f'{{"group": "", "kind": "{kind}", "version": "v1"}}'.encode()
    extension = _field(1, b"x-kubernetes-group-version-kind") + _field(2, _field(2, named))
    query = _field(2, b"query") + _field(4, b"dryRun")
    parameter = _field(1, _field(2, _field(3, query)))
    patch = _field(8, parameter) + _field(13, extension)
    return _field(1, f"/{kind}".encode()) + _field(2, _field(8, patch))


def _field(number: int, data: bytes) -> bytes:
    """Write a field whose value is bytes, text or another message."""
    return _number(number << 3 | 2) + _number(len(data)) + data


def _number(value: int) -> bytes:
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])
