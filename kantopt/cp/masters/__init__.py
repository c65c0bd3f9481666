"""Master programs of column generation: which patterns, contents or shares, and at what prices."""
