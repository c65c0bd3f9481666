"""Neighbourhoods of an incumbent that a solver searches: a few nodes free, all else as it is."""
