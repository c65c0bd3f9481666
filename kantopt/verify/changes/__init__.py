"""What changes of single nodes can gain where nobody is evicted: for tiers that few moves mend."""
