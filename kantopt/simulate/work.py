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

    @property
    def running(self) -> bool:
        """Whether pods of it are placed."""
        return self.working is not None

    def begin(self, task: Task, now: int, restart: int, gpus: int) -> int | None:
        """Let it start; return when it is done if nothing disturbs it.

        Parameters
        ----------
        restart
            Time until it works, if it was disturbed before.
        gpus
            Of the pods that were placed, milli-GPU.
        """
        self.version += 1
        self.working = now + (restart if self.disturbed else 0)
        self.stays = [(now, self.working, gpus)]
        return None if task.duration is None else self.working + task.duration - self.done

    def more(self, now: int, gpus: int) -> None:
        """Take note of pods that came later, or at once with the first."""
        assert self.working is not None, "it runs"
        if self.stays[-1][0] == now:
            gpus += self.stays.pop()[2]
        self.stays.append((now, max(now, self.working), gpus))

    def end(self) -> None:
        """Let it stop for good."""
        self.version += 1
        self.working = None
        self.stays = []

    def disturb(self, task: Task, now: int) -> int:
        """Let it stop before it is done; return the work that is lost, milliseconds.

        What it has done since its last checkpoint is lost.
        """
        assert self.working is not None, "it runs"
        done = self.done + max(0, now - self.working)
        self.done = done - done % task.checkpoint if task.checkpoint else 0
        self.disturbed = True
        self.end()
        return done - self.done
