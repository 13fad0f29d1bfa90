"""A library with typical mistakes, and tests that fail because of them, each in a session of pytest of its own."""
