import torch
from torch.autograd import forward_ad

x = torch.tensor([1.0, 2.0, 3.0])
slopes = []
for direction in torch.eye(3):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, direction)
        z = (dual * dual).sum()
        slopes.append(forward_ad.unpack_dual(z).tangent.item())
