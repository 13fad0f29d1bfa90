"""Reading and writing elements by index or mask."""
