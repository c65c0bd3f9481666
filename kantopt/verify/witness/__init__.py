"""Bounds worked out again from their witnesses: exact integers, and no solver."""
