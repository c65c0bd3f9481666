"""What has ended a run before its work was done: the words for it in a plan's warnings."""

from __future__ import annotations

import signal

from kantopt.clock import Deadline

TOO_LATE = "the run ended before it was looked at"
"""Said of a job instead of the reason why it stays pending."""


def not_examined(deadline: Deadline) -> str:
    """Say what reading has used up, so that nothing was looked at."""
    what = "memory" if deadline.stop.lacks_memory() else "time"
    return f"not examined: reading took all the {what}"


def what_ended(
    deadline: Deadline, search_end: Deadline, *, open_and_cut: bool, examined: bool = True
) -> tuple[str, ...]:
    """Say what ended the search, if something did: a signal, want of memory, the time limit.

    Parameters
    ----------
    deadline
        When all was to be done.
    search_end
        When the search was to stop for it; from then on it is the time limit that ended it.
    open_and_cut
        Whether something had no time to come to its end, and an objective is open.
    examined
        Whether anything was looked at.
    """
    number = deadline.stop.signal
    if number is not None:
        cause = f"interrupted by {signal.Signals(number).name}"
    elif deadline.stop.lacks_memory():
        cause = f"{deadline.stop.memory} ended the search"
    elif open_and_cut and search_end.over():
        cause = "the time limit ended the search"
    else:
        return ()
    left = "this is the best plan so far" if examined else "nothing was looked at before that"
    return (f"{cause}: {left}",)
