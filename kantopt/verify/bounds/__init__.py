"""Bounds by arithmetic: what a metric is at least, by formulas over the whole question."""
