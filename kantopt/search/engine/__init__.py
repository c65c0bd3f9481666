"""What every technique is run by: the contract, the desk, the incumbent that it betters."""
