"""Free slots by column generation: what nodes and their devices could hold, priced and chosen."""
