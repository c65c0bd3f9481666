"""Preemption: who gives way to whom, what becomes of their room, and who need not have gone."""
