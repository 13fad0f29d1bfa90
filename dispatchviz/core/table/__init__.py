"""Operators and their dispatch tables: registrations, and the cells and fallthrough masks computed from them."""
