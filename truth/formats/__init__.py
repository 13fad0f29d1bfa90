"""How records are written down: as text that a person reads and that changes line by line."""
