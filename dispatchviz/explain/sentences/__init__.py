"""Sentences on each step and its reason, with the facts that they state."""
