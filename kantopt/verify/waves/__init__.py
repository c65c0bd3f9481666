"""What can be true while the waves of a plan run, in whatever order they may."""
