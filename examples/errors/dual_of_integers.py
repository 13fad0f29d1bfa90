import torch
import torch.autograd.forward_ad as fwAD

with fwAD.dual_level():
    fwAD.make_dual(torch.tensor([1, 2]), torch.tensor([1, 1]))
