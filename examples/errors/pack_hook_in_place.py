import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
y = w * 2
with torch.autograd.graph.saved_tensors_hooks(lambda x: x.zero_(), lambda x: x):
    loss = (y * y).sum()
