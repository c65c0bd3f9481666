"""What rules count beside loads, kept up to date by a search's state."""
