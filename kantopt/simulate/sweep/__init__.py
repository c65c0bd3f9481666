"""Simulations over a grid of clusters, offered loads and policies, each cell by itself."""
