"""What the problem is: frozen, index-dense, without files and without a solver."""
