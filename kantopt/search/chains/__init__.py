"""Local search in which single pods move: chains of ejections, restarts, put-back."""
