"""Dispatch keys and key sets: names, cards, and raw sets of any release."""
