"""Programs that are run from a checkout; an installation has none of them."""
