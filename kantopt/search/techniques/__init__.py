"""The techniques of the exact search: each betters what is on a desk until a deadline."""
