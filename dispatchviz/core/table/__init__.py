"""Operators and their dispatch tables: registrations (given), cells and masks (derived), the rule between them."""
