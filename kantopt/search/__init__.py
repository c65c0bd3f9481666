"""Good answers fast: placements without a solver, the order of actions, reasons."""
