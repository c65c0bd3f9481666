"""Two dumps of one cluster: what became of its pods between them."""
