"""What ``kubectl get -o json`` shows, into documents: nodes, pods, and whom they belong to."""
