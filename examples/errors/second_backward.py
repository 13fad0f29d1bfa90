import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (w * w).sum()
loss.backward()
loss.backward()  # the Nodes have released their saved tensors
