"""A program that imports torch late, in a function."""

import sys


def late():
    import torch

    return torch.ones(2).add(1)


print(len(sys.argv))
print(late().tolist(), __name__, __file__[-7:])
