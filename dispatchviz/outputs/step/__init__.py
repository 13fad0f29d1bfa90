"""One step as text and as JSON."""
