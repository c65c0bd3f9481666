"""Questions made of others: parts, one job alone, what comes after a plan, what is alike merged."""
