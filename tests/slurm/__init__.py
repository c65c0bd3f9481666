"""Plans followed by a real Slurm on this machine."""
