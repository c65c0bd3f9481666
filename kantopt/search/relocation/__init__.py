"""Relocation: pods that run leave for other places, so that a job finds room."""
