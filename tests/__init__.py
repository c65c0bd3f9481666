"""Tests of kantopt."""
