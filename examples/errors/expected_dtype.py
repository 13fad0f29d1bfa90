import torch

layer = torch.nn.Conv1d(1, 1, kernel_size=2, bias=False)
layer(torch.ones(1, 1, 4, dtype=torch.float64))  # the weight is float32
