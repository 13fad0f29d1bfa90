"""Statements from older articles about the dispatcher, what is true in PyTorch 2.14, and reasons for the design."""
