"""Plans as what another system follows: pure, without side effects."""
