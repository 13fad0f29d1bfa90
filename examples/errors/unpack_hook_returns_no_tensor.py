import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: 0):
    loss = (w * w).sum()
loss.backward()
