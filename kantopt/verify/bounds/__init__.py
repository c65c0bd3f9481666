"""Bounds by arithmetic: formulas over a whole question that metrics are at least."""
