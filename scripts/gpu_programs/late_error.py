"""An index that is out of range. PyTorch's kernel stops, and a later call raises. The model's call raises itself."""

import torch

rows = torch.ones(3, 2, device="cuda", requires_grad=True)
picked = rows[torch.tensor([0, 5], device="cuda")]
doubled = picked * 2
print(doubled.sum().item())
