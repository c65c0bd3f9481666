"""Loads and clusters drawn at random: sizes, times, arrivals, users, estimates, outages."""
