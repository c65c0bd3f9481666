"""The use cases, a file or folder each, and what several of them need; nothing here prints."""
