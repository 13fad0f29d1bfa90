"""A step as text and as JSON."""
