"""A cluster over time: a trace of jobs under a policy, event by event."""
