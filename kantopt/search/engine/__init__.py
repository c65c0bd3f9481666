"""What every technique is run by: the contract, the schedule, the incumbent it betters."""
