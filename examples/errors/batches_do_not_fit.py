import torch

torch.bmm(torch.ones(2, 3, 4), torch.ones(2, 5, 6))  # 4 columns, 5 rows
