"""A check that our texts follow the rules of CONTRIBUTING.md: ``python -m scripts.plain_english``."""
