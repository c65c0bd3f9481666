"""What queues make of a job's victims, in words: whom they spare, and who may be evicted beside."""

from __future__ import annotations

from dataclasses import replace

from kantopt.planning.question import Question
from kantopt.planning.queue_victims import beyond_words
from kantopt.schema.answers.explanation import Verdict
from kantopt.schema.model import Model


def spared_words(question: Question, name: str, model: Model) -> dict[str, str]:
    """Say of jobs that are less important than one and do not go for it, by its queue, why."""
    told = next((item for item in question.snapshot.victims if item.job == name), None)
    if told is None:
        return {}
    stays = replace(question, about=name).spared(model).stays
    words = {}
    for job in question.snapshot.jobs:
        if job.full_name in stays:
            most, queue = told.queues.get(job.queue_name), job.queue_name
            words[job.full_name] = f"by its queue, nobody of queue {queue} goes for this job"
            if most is not None:
                up_to = f"goes for this job only up to priority {most}"
                words[job.full_name] = f"by its queue, who is in queue {queue} {up_to}"
            elif not queue and told.queued_only:
                words[job.full_name] = (
                    "another scheduler has it, or no queue, and it does not go for this job"
                )
            elif not queue:
                words[job.full_name] = "its pods are no less important than those of this job"
    return words


def unproved(verdict: Verdict, question: Question, name: str) -> Verdict:
    """Take the proof from a verdict where more may be evicted for a job than any plan does."""
    text = beyond_words(question.snapshot, name)
    if not text or verdict.status not in ("WAITS", "OVER_LIMIT", "OVER_QUOTA"):
        return verdict
    return verdict.model_copy(update={"message": f"{verdict.message} {text}.", "proved": False})
