"""Moves that tidy up, fast: whole nodes and domains emptied, and single moves by what they gain."""
