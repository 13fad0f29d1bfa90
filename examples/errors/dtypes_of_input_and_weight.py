import torch

layer = torch.nn.Conv1d(1, 1, kernel_size=2)
layer(torch.ones(1, 1, 4, dtype=torch.float64))  # weight and bias are float32
