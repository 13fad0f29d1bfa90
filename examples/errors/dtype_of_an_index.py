import torch

torch.ones(3).gather(0, torch.tensor([0.0]))
