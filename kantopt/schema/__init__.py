"""The documents: what they hold, how they are read and what is said when they are wrong."""
