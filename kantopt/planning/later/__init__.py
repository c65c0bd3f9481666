"""Plans on a later snapshot: what is still there, and what of a plan can still be taken."""
