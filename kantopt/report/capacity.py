"""How many more of a job fit, for people: three numbers with bounds, and where the room is."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kantopt.report.blocks import Block, Listing, Paragraph, Style, Table, in_lines
from kantopt.report.brief import MOST, mistyped_blocks, warnings_blocks
from kantopt.report.names import cluster_at
from kantopt.report.size import Size, size_blocks
from kantopt.schema.answers.capacity import Capacity, LevelRoom, Room
from kantopt.schema.hints import plural

_LISTS, _AROUND = 28, 4
"""Lines for lists of domains unless all are asked for, and those of each that are no domains."""
_SHARES = 8
"""Numbers of slots that a line of the histogram names."""


def capacity_blocks(
    found: Capacity, *, wide: bool = False, size: Size | None = None, notes: Collection[str] = ()
) -> list[Block]:
    """Lay out how many more fit; ``wide`` lists every domain that has a free slot."""
    return [
        *_headline(found),
        *mistyped_blocks(found.warnings),
        *size_blocks(size, wide=wide),
        _rooms(found),
        *_ways(found),
        *_levels(found),
        *_domains(found, wide),
        *warnings_blocks(found.warnings, notes, wide=wide),
    ]


def capacity_lines(found: Capacity) -> str:
    """One line per answer: when, copies that fit, the bound, the status and the moves."""
    rooms = (
        f"{room.when.replace(' ', '-')} {room.jobs} {room.bound} {room.status} {room.moves}"
        for room in found.rooms
    )
    return in_lines(rooms)


def _headline(found: Capacity) -> Iterator[Block]:
    now, some, every = found.rooms
    parts = [f"{_at_least(now)} more of {found.job} fit now"]
    if some.max_moves is not None:
        parts.append(f"{_at_least(some)} if {_moved(some)}")
    parts.append(f"{_at_least(every)} if {_moved(every)}")
    yield Paragraph(f"{', '.join(parts)}; nobody is evicted.", "title" if every.jobs else "bad")
    parts = [f"{plural(each.pods, 'pod')} of {each.name}" for each in found.pod_sets]
    parts += [f"{plural(found.min_count, 'pod')} in all"] if found.min_count else []
    needs = ", ".join(parts)
    where = cluster_at(found.metadata.name, found.snapshot.captured_at)
    yield Paragraph(f"{where}, model {found.model or '(unnamed)'}; each: {needs}.", "dim")


def _at_least(room: Room) -> str:
    return str(room.jobs) if room.status == "OPTIMAL" else f"at least {room.jobs}"


def _moved(room: Room) -> str:
    if room.max_moves is not None:
        return f"at most {plural(room.max_moves, 'pod')} may move"
    return "pods may move"


def _rooms(found: Capacity) -> Table:
    rows, styles = [], []
    for room in found.rooms:
        limit = "any" if room.max_moves is None else str(room.max_moves)
        moves = str(room.moves) if room.fewest_moves else f"{room.moves} or fewer"
        proof = "OPTIMAL" if room.status == "OPTIMAL" else "FEASIBLE: there may be more"
        rows.append((room.when, limit, str(room.jobs), str(room.bound), proof, moves))
        styles.append(_STYLES[room.status])
    columns = ("WHEN", "MOVES ALLOWED", "MORE", "BOUND", "PROOF", "MOVES")
    return Table("HOW MANY MORE", columns, tuple(rows), frozenset({1, 2, 3, 5}), tuple(styles))


_STYLES: dict[str, Style] = {"OPTIMAL": "", "FEASIBLE": "warn"}


def _ways(found: Capacity) -> Iterator[Block]:
    whens: dict[str, list[str]] = {}
    for room in found.rooms:
        if room.one_more is not None:
            why = f"{room.one_more.rule}: {room.one_more.message}"
            whens.setdefault(why, []).append(room.when)
    if whens:
        rows = tuple((", ".join(when), why) for why, when in whens.items())
        yield Table("WHY NOT ONE MORE", ("WHEN", "WHY"), rows)
    if found.verdict is not None:
        yield Listing("FITS NOWHERE", (found.verdict.message,), "bad")


def _levels(found: Capacity) -> Iterator[Block]:
    several = len({level.pod_set for level in found.levels}) > 1
    rows = []
    for level in found.levels:
        rows.append(
            (
                *((level.pod_set,) if several else ()),
                level.level,
                str(level.domains),
                str(level.pods),
                _number(level.jobs),
                str(level.largest_gang),
                _histogram(level),
            )
        )
    columns = (
        *(("POD SET",) if several else ()),
        *("LEVEL", "DOMAINS", "SLOTS", "JOBS", "LARGEST GANG", "DOMAINS WITH SO MANY SLOTS"),
    )
    first = int(several)
    right = frozenset(range(first + 1, first + 5))
    yield Table("FREE SLOTS NOW, a slot is room for one pod", columns, tuple(rows), right)
    if found.largest_gang is not None:
        text = f"The largest gang that fits now, wherever: {plural(found.largest_gang, 'pod')}."
        yield Paragraph(text, indent=2)
    if found.quota_pods is not None:
        yield Paragraph(f"The quota leaves {plural(found.quota_pods, 'pod')}.", indent=2)


def _histogram(level: LevelRoom) -> str:
    shares = level.histogram
    shown = shares if len(shares) <= _SHARES else (*shares[: _SHARES // 2], *shares[-3:])
    parts = [f"{share.domains} with {share.pods}" for share in shown]
    if len(shown) < len(shares):
        between = sum(share.domains for share in shares[_SHARES // 2 : -3])
        parts.insert(_SHARES // 2, f"{between} between")
    return ", ".join(parts) or "-"


def _domains(found: Capacity, wide: bool) -> Iterator[Block]:
    several = len({level.pod_set for level in found.levels}) > 1
    levels = [level for level in found.levels if level.fullest]
    for level in levels:
        most = min(MOST, max(1, _LISTS // len(levels) - _AROUND))
        whole = wide or len(level.fullest) <= most + 1
        shown = level.fullest if whole else level.fullest[:most]
        rows = [(each.domain, str(each.pods), _number(each.jobs)) for each in shown]
        if rest := level.fullest[len(shown) :]:
            jobs = None if level.jobs is None else sum(each.jobs or 0 for each in rest)
            pods = sum(each.pods for each in rest)
            rows.append((f"{len(rest)} others", str(pods), _number(jobs)))
        of = f" of {level.pod_set}" if several else ""
        title = f"MOST FREE SLOTS{of} by {level.level}"
        columns = (level.level.upper(), "SLOTS", "JOBS")
        yield Table(title, columns, tuple(rows), frozenset({1, 2}))


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)
