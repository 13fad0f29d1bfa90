"""Operators and their dispatch tables: registrations, and the entries and fallthrough masks computed from them."""
