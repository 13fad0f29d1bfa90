import torch

kept = []


def pack(tensor):
    kept.append(tensor.nbytes)
    return tensor


def unpack(packed):
    return packed


x = torch.ones(1000, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    y = (x * x).exp()
