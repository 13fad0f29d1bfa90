import torch

torch.nn.Dropout(p=50)
