import torch

torch.nn.functional.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([1]))  # integer labels
