import torch

x = torch.tensor([1.0, 2.0])
torch.matmul(x)  # two tensors are multiplied
