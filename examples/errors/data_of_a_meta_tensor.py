import torch

x = torch.ones(2, device="meta")
x.cpu()  # a meta tensor has a shape but no data
