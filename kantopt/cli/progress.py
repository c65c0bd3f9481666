"""What a command at work shows on stderr."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Self

from kantopt.cli.output import LogForm, tell_news
from kantopt.clock import elapsed

if TYPE_CHECKING:
    from kantopt.planning.solving.news import News
    from kantopt.problem.tiers import Tier

_FIRST_SECONDS = 2.0
_EVERY_SECONDS = 0.25
_BAR = 12
"""Characters of the bar."""

_WORDS = {"search": "searching"}
"""What parts of the work are called on a terminal, if not by their own names."""


class Progress:
    """Shows news of the work: lines with ``verbose``, else one changing line on a terminal.

    The line comes after two seconds and goes away at the end. With a time limit it has a bar.

    With ``form`` ``json`` every piece of news is a line with a JSON object, for other programs:
    ``time``, ``t`` in seconds since the process began, ``event`` and, of a better plan, ``values``.
    Events without values are ``reading`` (from here on signals are heard), ``planning`` (all is
    read; once the question is built a signal costs nothing but time to search), ``search`` (the
    solver begins) and ``done``.

    The changing line is drawn from a timer signal, not a thread: the solver's process is forked,
    and a fork beside threads may never wake up.
    """

    def __init__(
        self,
        *,
        verbose: bool,
        quiet: bool,
        limit_seconds: float | None = None,
        form: LogForm = "text",
    ) -> None:
        self._json = form == "json" and not quiet
        self._verbose = verbose and not quiet
        self._limit = limit_seconds
        self._news = "reading"
        self._best = False
        """There is a plan to speak of."""
        self._open = ""
        """How far its first objective that is not proved is from its bound."""
        self._drawn = False
        line = not (quiet or verbose or self._json)
        self._live = line and _is_terminal() and hasattr(signal, "SIGALRM")
        self._old: object = None
        self.moments: dict[str, float] = {}
        """When each part of the work began, in seconds since the process did."""

    def reach(self, event: str) -> None:
        """Take the news that another part of the work begins; told to other programs only."""
        self.moments.setdefault(event, elapsed())
        if not self._best:
            self._news = _WORDS.get(event, event)
        if self._json:
            tell_news(event)

    def tell(self, news: News) -> None:
        """Take the news of a better plan, or that another part of the work begins."""
        values, bounds = news.values, news.bounds
        if not values:
            self.reach(news.by)
            return
        self._best = True
        first = _first_open(values, bounds, news.tiers)
        self._news, self._open = f"best plan by {news.by}", first
        if self._json:
            tell_news(news.by, {"values": list(values), "bounds": list(bounds)}, news.seconds)
        elif self._verbose:
            numbers = f"[{' '.join(map(str, values))}]"
            rest = f" {first}" if first else " proved" if bounds else ""
            self._write(f"t={news.seconds:.1f}s {news.by} {numbers}{rest}\n")

    def end(self, status: str) -> None:
        """Take the news that the plan is complete, verified and not yet written."""
        self.moments["done"] = elapsed()
        if self._json:
            tell_news("done", {"status": status})

    def phases(self) -> dict[str, float]:
        """Return how many seconds the parts of the work took: load, construct, search."""
        done = self.moments.get("done", elapsed())
        planning = self.moments.get("planning", done)
        search = self.moments.get("search", done)
        return {"load": planning, "construct": search - planning, "search": done - search}

    def __enter__(self) -> Self:
        if self._live:
            self._old = signal.signal(signal.SIGALRM, self._draw)
            first = max(0.01, _FIRST_SECONDS - elapsed())
            signal.setitimer(signal.ITIMER_REAL, first, _EVERY_SECONDS)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        if self._live:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._old)  # type: ignore[arg-type]
            if self._drawn:
                self._write("\r\x1b[K")

    def _draw(self, number: int, frame: FrameType | None) -> None:
        self._drawn = True
        seconds = elapsed()
        head, hint = f"{seconds:.0f} s, ", ""
        if self._limit is not None:
            done = min(_BAR, int(_BAR * seconds / self._limit))
            bar = f"[{'#' * done}{'.' * (_BAR - done)}]"
            head = f"{bar} {seconds:.0f} of {self._limit:g} s, "
            if self._news != "reading":  # before that there is nothing to take
                hint = " (Ctrl-C takes what there is)"
        news = f"{self._news}, {self._open}" if self._open else self._news
        width = _width()
        # Where all of it has no room, who found the plan goes first: the rest can be acted upon.
        texts = [f"{head}{news}{hint}", f"{head}{self._open or news}{hint}"]
        texts += [f"{head}{self._open or news}"]
        text = next((each for each in texts if len(each) < width), texts[-1][: width - 1])
        self._write(f"\r{text}\x1b[K")

    def _write(self, text: str) -> None:
        if sys.stderr is not None:
            with contextlib.suppress(OSError, ValueError, RuntimeError):
                sys.stderr.write(text)
                sys.stderr.flush()


def _first_open(values: Sequence[int], bounds: Sequence[int], tiers: Sequence[Tier]) -> str:
    """How far the first tier that is not proved is from its bound; nothing if all are."""
    for i, (value, bound) in enumerate(zip(values, bounds, strict=False)):
        if value > bound:
            label, written = f"tier {i + 1}", (str(value), str(bound))
            if i < len(tiers):
                label, written = _as_in_tables(tiers[i], (value, bound))
            return f"{label}: {written[0]}, bound {written[1]}"
    return ""


def _as_in_tables(tier: Tier, numbers: tuple[int, int]) -> tuple[str, tuple[str, str]]:
    """Name and numbers of a tier as the table of objectives writes them."""
    from kantopt.report.blocks import escaped
    from kantopt.report.units import tier_label, tier_number

    first, second = (tier_number(tier.unit, tier.mix_weight, number) for number in numbers)
    return escaped(tier_label(tier.name)), (first, second)


def _width() -> int:
    """Columns of the terminal; as many as it takes where it does not say."""
    with contextlib.suppress(OSError, ValueError):
        return max(os.get_terminal_size(sys.stderr.fileno()).columns or 80, 21)
    return 1000


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    except (AttributeError, ValueError):
        return False
