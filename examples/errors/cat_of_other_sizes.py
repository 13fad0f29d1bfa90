import torch

torch.cat([torch.ones(2, 3), torch.ones(2, 4)])  # 3 and 4 columns
