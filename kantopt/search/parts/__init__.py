"""Parts of a question that share nothing, and what their answers say of the whole."""
