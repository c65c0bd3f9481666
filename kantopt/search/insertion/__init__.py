"""Insertion heuristics: whole jobs onto nodes as they are, one after the other, by a strategy."""
