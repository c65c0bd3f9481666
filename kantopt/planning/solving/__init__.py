"""One run of the planner: its incumbent, the searches beside each other, and the deadline."""
