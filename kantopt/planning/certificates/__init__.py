"""Certificates: what is judged, between which dumps, by which witnesses, and the check of them."""
