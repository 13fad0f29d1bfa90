import torch

x = torch.tensor([1.0, 2.0])
x.retain_grad()  # x does not require grad
