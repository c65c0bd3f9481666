"""The use cases, one file each; nothing here prints."""
