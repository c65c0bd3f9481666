"""Disruption bounded and reduced by column generation: patterns of change, node by node."""
