"""Victims of a plan: for whom each gave way, and who need not have gone."""
