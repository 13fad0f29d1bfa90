import torch
from torch.utils.checkpoint import checkpoint

calls = []


def layer(x):
    calls.append(x)
    return (x.sin() if len(calls) == 1 else x * 1).sum()


w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = checkpoint(layer, w, use_reentrant=False)
loss.backward()  # layer runs again and computes something else
