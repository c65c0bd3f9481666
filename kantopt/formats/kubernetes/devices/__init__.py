"""Devices that pods claim (dynamic resource allocation): slices, classes, claims, and selectors."""
