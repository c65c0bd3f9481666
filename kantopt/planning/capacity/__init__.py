"""How many more of a job fit: copies of it are counted, and planned by the planner itself."""
