"""Observers of a run of a program, on a real torch or the model."""
