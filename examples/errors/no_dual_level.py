import torch
import torch.autograd.forward_ad as fwAD

fwAD.make_dual(torch.ones(2), torch.ones(2))  # outside dual_level()
