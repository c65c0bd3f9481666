"""YAML: text into raw documents, line by line where that can be, and data into text."""
