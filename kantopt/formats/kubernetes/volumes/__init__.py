"""Volumes of pods: where they can be mounted, how many at a time, and those yet to be made."""
