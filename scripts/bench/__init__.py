"""Benchmarks: instances from published recipes, whole-process runs, one CSV row each, summaries."""
