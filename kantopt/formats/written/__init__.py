"""Native documents as objects of Kubernetes and of its batch systems, and what is lost."""
