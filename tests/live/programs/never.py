"""A program that does not import torch."""

print(sum(range(10)))
