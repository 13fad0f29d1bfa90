import torch

x = torch.tensor([1.0, 2.0])
loss = (x * 2).sum()
loss.backward()  # nothing on the way to loss requires grad
