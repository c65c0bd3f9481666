"""Records of jobs over time, as clusters publish them."""
