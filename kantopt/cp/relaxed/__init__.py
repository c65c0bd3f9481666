"""Bounds of the tiers from small relaxations: alike jobs and alike nodes counted together."""
