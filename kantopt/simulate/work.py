"""What a job has done and has yet to do, through stops and restarts."""

from __future__ import annotations

from dataclasses import dataclass, field

from kantopt.simulate.world import Task


@dataclass(slots=True)
class Work:
    """The work of one job; milliseconds, moments since the start of the trace."""

    done: int = 0
    """Work that it need not do again."""
    disturbed: bool = False
    """Whether it was stopped before it was done: its next start takes the time of a restart."""
    version: int = 0
    """Grows when it starts and when it stops: tells events that are out of date."""
    working: int | None = None
    """Since when it works, or from when on; ``None`` while it does not run."""
    stays: list[tuple[int, int, int]] = field(default_factory=list)
    """Of its pods that are placed: when they came, when they work, and their milli-GPU."""
    spent: list[tuple[int, int, int]] = field(default_factory=list)
    """Of its pods that have left while it works on: since when they worked, when they left, and
    their milli-GPU."""
    changes: int = 0
    """Grows with every coming and going of its pods."""

    @property
    def running(self) -> bool:
        """Whether pods of it are placed."""
        return self.working is not None

    def begin(self, task: Task, now: int, working: int, gpus: int) -> int | None:
        """Let it start; return when it is done if nothing disturbs it.

        Parameters
        ----------
        working
            From when on it works.
        gpus
            Of the pods that were placed, milli-GPU.
        """
        self.version += 1
        self.changes += 1
        self.working = working
        self.stays = [(now, working, gpus)]
        return None if task.duration is None else working + task.duration - self.done

    def more(self, now: int, gpus: int) -> None:
        """Take note of pods that came later, or at once with the first."""
        assert self.working is not None, "it runs"
        self.changes += 1
        if self.stays[-1][0] == now:
            gpus += self.stays.pop()[2]
        self.stays.append((now, max(now, self.working), gpus))

    def fewer(self, now: int, gpus: int) -> list[tuple[int, int, int]]:
        """Let pods with so many milli-GPU go, those that came last; return their stays."""
        self.changes += 1
        gone = []
        while gpus and self.stays:
            begin, working, there = self.stays.pop()
            part = min(gpus, there)
            gone.append((begin, working, part))
            gpus -= part
            if there > part:
                self.stays.append((begin, working, there - part))
        self.spent += [(working, now, part) for _, working, part in gone if working < now]
        return gone

    def end(self) -> None:
        """Let it stop for good."""
        self.version += 1
        self.changes += 1
        self.working = None
        self.stays, self.spent = [], []

    def pause(self, now: int) -> int:
        """Let it stop to go on from where it is; return from when on it would have worked."""
        assert self.working is not None, "it runs"
        working = max(now, self.working)
        self.done += max(0, now - self.working)
        spent = [*self.spent, *self._worked(now)]
        self.end()
        self.spent = spent
        return working

    def disturb(self, task: Task, now: int) -> int:
        """Let it stop before it is done; return the work that is lost, milli-GPU x milliseconds.

        What it has done since its last checkpoint is lost, by the pods that it had meanwhile.
        """
        assert self.working is not None, "it runs"
        done = self.done + max(0, now - self.working)
        self.done = done - done % task.checkpoint if task.checkpoint else 0
        saved = now - (done - self.done)
        lost = sum(
            max(0, end - max(working, saved)) * gpus
            for working, end, gpus in (*self.spent, *self._worked(now))
        )
        self.disturbed = True
        self.end()
        return lost

    def _worked(self, now: int) -> list[tuple[int, int, int]]:
        return [(working, now, gpus) for _, working, gpus in self.stays if working < now]
