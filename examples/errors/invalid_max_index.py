import torch

pool = torch.nn.MaxUnpool2d(2)
pool(torch.ones(1, 1, 1, 1), torch.tensor([[[[9]]]]))
