import torch

w = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
first, second = (w * 2).unbind()
first += 1  # unbind returned two views with one Node
