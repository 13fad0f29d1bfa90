import torch

torch.ones(2).cuda()
