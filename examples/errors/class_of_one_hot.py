import torch

torch.nn.functional.one_hot(torch.tensor([0, 3]), num_classes=3)
