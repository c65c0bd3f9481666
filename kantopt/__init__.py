"""Exact placement, preemption and defragmentation plans for AI clusters, with proof."""

__version__ = "0.1.0"
