"""Kueue: its quotas, flavors and Workloads, and whom it evicts."""
