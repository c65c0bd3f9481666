"""Tests of ``explain``: verdicts, conflicts, remedies, words."""
