"""Texts of the checkout as pages: where they lie now, with links where they name each other."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
TEXTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "models/README.md", "instances/README.md")
"""Beside all that is in ``docs``."""
_ENTRY = re.compile(r"- |\d+\. ")
_SPAN = re.compile(r"(?<![\[`])`([\w./-]+)`(?!`)")


def files_of_the_checkout() -> list[str]:
    """Paths of all texts, and of the pictures and examples beside them."""
    beside = sorted(path for path in (ROOT / "docs").rglob("*") if path.is_file())
    return [*TEXTS, *(path.relative_to(ROOT).as_posix() for path in beside)]


def copy_texts(folder: Path) -> None:
    """Write all of them into a folder, at the paths that they have in the checkout."""
    files = files_of_the_checkout()
    for name in files:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".md"):
            text = (ROOT / name).read_text(encoding="utf-8")
            target.write_text(indented(linked(text, name, frozenset(files))), encoding="utf-8")
        else:
            shutil.copyfile(ROOT / name, target)


def linked(text: str, page: str, files: Collection[str]) -> str:
    """Make a link of each code span that is the path of another of these files."""

    def link(match: re.Match[str]) -> str:
        path = match[1]
        return (
            f"[{match[0]}]({relative(path, page)})" if path in files and path != page else match[0]
        )

    return "\n".join(line if code else _SPAN.sub(link, line) for line, code in _with_code(text))


def indented(text: str) -> str:
    """Indent what belongs to an entry of a list by four spaces, as mkdocs needs it.

    The texts have it below the first word, by two or three. After a paragraph of its own in an
    entry the next entry needs an empty line before it.
    """
    lines: list[str] = []
    width, parted = 0, False
    for line, code in _with_code(text):
        if code or not line.strip():
            lines.append(line)
            parted = True
            continue
        depth = len(line) - len(line.lstrip(" "))
        if depth == 0:
            entry = _ENTRY.match(line)
            if entry and width and parted and lines[-1]:
                lines.append("")
            width, parted = len(entry[0]) if entry else 0, False
        deeper = width and depth >= width
        lines.append(" " * 4 * (1 + (depth - width) // 2) + line.lstrip(" ") if deeper else line)
    return "\n".join(lines)


def relative(path: str, page: str) -> str:
    """Return how a page links to another, both as paths from the top."""
    return os.path.relpath(path, PurePosixPath(page).parent)


def _with_code(text: str) -> Iterator[tuple[str, bool]]:
    """Give each line, and whether it is one of a fenced block."""
    inside = False
    for line in text.split("\n"):
        fence = line.lstrip().startswith("```")
        yield line, inside or fence
        inside ^= fence
