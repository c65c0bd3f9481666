"""Repair with few moves: pods with devices change places so that pods that wait find room."""
