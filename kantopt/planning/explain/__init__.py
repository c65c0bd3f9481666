"""The use case `explain`: why a job is where it is, and what would change that."""
