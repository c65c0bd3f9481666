"""What a plan says: written from an answer, and held against what it does."""
