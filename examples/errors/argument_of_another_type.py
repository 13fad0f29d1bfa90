import torch

torch.zeros("3")  # a size is a number
