"""Imports no torch at all."""

print(sum(range(10)))
