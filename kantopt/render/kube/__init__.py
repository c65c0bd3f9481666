"""What a plan is for the API of Kubernetes, and the script that carries it out."""
