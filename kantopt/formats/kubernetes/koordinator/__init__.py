"""Koordinator: room that is reserved, and GPUs that are given out in parts."""
