import torch
from torch.utils.checkpoint import checkpoint

calls = []


def layer(x):
    calls.append(x)
    return (x[: len(calls)] * x[: len(calls)]).sum()


w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = checkpoint(layer, w, use_reentrant=False)
loss.backward()  # layer runs again, and takes more elements
