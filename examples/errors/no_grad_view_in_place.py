import torch

w = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
with torch.no_grad():
    row = w[0]
row += 1  # should this write be recorded?
