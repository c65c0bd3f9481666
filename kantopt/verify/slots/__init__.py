"""What nodes and their devices could hold, and at what cost: for tiers that count free slots."""
