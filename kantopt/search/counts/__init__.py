"""What rules count beside loads, as a search's state keeps it: neighbours, quotas, moves."""
