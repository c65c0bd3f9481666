"""What would let a job be placed, one kind of change a function."""
