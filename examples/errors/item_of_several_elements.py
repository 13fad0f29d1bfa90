import torch

x = torch.tensor([1.0, 2.0])
x.item()  # two elements are not one number
