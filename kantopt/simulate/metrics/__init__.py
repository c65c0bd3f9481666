"""Metrics over time: what is measured of one simulation, one concept a file."""
