import torch

w = torch.ones(3, requires_grad=True)
w.map_(torch.ones(3), lambda a, b: a + b)  # a Python function has no derivative
