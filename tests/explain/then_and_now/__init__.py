"""Statements and reasons: that they fit programs and pages, and that an installed PyTorch says what they say."""
