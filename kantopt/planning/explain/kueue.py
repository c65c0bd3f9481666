"""What Kueue makes of a job's victims, in words: whom it spares, and whom it may evict beside."""

from __future__ import annotations

from kantopt.planning.kueue_victims import beyond_words, spared
from kantopt.planning.question import Question
from kantopt.schema.answers.explanation import Verdict


def spared_words(question: Question, name: str) -> dict[str, str]:
    """Say of jobs that are less important than one and that Kueue evicts none of for it, why."""
    told = next((item for item in question.snapshot.victims if item.job == name), None)
    if told is None:
        return {}
    stays = spared(question.snapshot, question.pending, (name,)).stays
    words = {}
    for job in question.snapshot.jobs:
        if job.full_name in stays:
            most, queue = told.queues.get(job.queue_name), job.queue_name
            words[job.full_name] = f"Kueue evicts nobody of queue {queue} for this job"
            if most is not None:
                up_to = f"only up to priority {most}"
                words[job.full_name] = f"Kueue evicts jobs of queue {queue} for this one {up_to}"
            elif not queue:
                words[job.full_name] = "its pods are no less important than those of this job"
    return words


def unproved(verdict: Verdict, question: Question, name: str) -> Verdict:
    """Take the proof from a verdict where Kueue may evict more for a job than any plan does."""
    text = beyond_words(question.snapshot, name)
    if not text or verdict.status not in ("WAITS", "OVER_LIMIT", "OVER_QUOTA"):
        return verdict
    return verdict.model_copy(update={"message": f"{verdict.message} {text}.", "proved": False})
