import torch

w = torch.ones(2, 2, requires_grad=True)
base = w * 1
with torch.inference_mode():
    row = base[0]
row += 1  # should this write be recorded?
