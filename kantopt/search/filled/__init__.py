"""Placements made anew where only devices are scarce: each device is filled first, then placed."""
