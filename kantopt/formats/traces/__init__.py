"""What clusters and archives publish: traces of jobs over time, and lists of nodes and pods."""
