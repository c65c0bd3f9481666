"""All commands asked about the same small question: do they contradict each other?"""
