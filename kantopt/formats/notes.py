"""What an import left out or took for granted, by kind, each with its count and names."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from kantopt.schema.hints import quote


class Notes:
    """What was left out or taken for granted: each kind of thing with its count and names."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._names: dict[str, dict[str, int]] = {}

    def add(self, text: str, witness: str = "", count: int = 1) -> None:
        """Count one more thing of a kind, with the name of what it is or belongs to."""
        self._counts[text] = self._counts.get(text, 0) + count
        if witness:
            names = self._names.setdefault(text, {})
            names[witness] = names.get(witness, 0) + count

    def once(self, text: str, witness: str) -> None:
        """Count a thing that may come up several times, by its name."""
        if witness not in self._names.get(text, ()):
            self.add(text, witness)

    def lines(self, most: int = 1) -> tuple[str, ...]:
        """Return one line per kind of thing, in the order in which they first came up.

        Parameters
        ----------
        most
            How many names a line may have; more there are dots for.
        """
        lines = []
        for text, count in self._counts.items():
            found = [quote(name)[1:-1] for name in islice(self._names.get(text, ()), most)]
            if found and count > len(found):
                found.append("...")
            names = f" ({', '.join(found)})" if found else ""
            lines.append(f"{text}: {count}{names}")
        return tuple(lines)

    def rows(self) -> Iterator[tuple[str, int, tuple[str, ...]]]:
        """Yield each kind of thing with its count and all its names, in order."""
        for text, count in self._counts.items():
            yield text, count, tuple(self._names.get(text, ()))

    def each(self) -> tuple[str, ...]:
        """Return one line per name, with its count if it is not 1, after what they are."""
        lines = []
        for text, count in self._counts.items():
            for name, number in self._names.get(text, {"": count}).items():
                often = f": {number}" if number > 1 or not name else ""
                lines.append(f"{text}{name and f': {quote(name)[1:-1]}'}{often}")
        return tuple(lines)
