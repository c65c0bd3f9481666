"""Slurm's files into documents, and back."""
