import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
w.grad = torch.ones(2, dtype=torch.float64)  # w is float32
