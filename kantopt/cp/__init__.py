"""How CP-SAT sees the problem; the only folder that imports ortools."""
