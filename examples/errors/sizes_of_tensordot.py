import torch

torch.tensordot(torch.ones(2, 3), torch.ones(2, 3), dims=1)  # 3 and 2
