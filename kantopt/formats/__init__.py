"""Other systems' formats: what they hold into our documents, and our plans into theirs."""
