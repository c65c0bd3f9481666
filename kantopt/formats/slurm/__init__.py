"""What Slurm prints, as text or JSON, into documents: nodes, jobs, partitions, topology."""
