"""A complete Node: its members at a step, with the purpose of each."""
