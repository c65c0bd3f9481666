"""Linear programs over patterns, contents and shares: masters of column generation, and prices."""
