"""In which order can it be done? What waits for what, and how circles are broken."""
