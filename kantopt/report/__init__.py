"""How answers are shown; everything here takes documents and returns text."""
