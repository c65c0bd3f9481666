"""How answers are judged: plain integer arithmetic that knows nothing of any solver."""
