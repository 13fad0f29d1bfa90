import torch

x = torch.tensor([1.0, 2.0])
if x > 1:  # two truth values
    print("greater")
