"""Bounds from what each topology domain could hold, at prices of pods and of domains in use."""
