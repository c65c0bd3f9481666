"""The exact search: stages that share one incumbent, in a process of its own."""
