import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
y = w * 2
loss = (y * y).sum()
y.detach_()  # mul saved y together with its history
loss.backward()
