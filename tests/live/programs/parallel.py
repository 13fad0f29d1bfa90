"""CPU kernels that call others on threads of OpenMP."""

import torch

torch.manual_seed(0)
torch.set_num_threads(4)
query = torch.randn(1, 2, 200, 8, requires_grad=True)
key, value = torch.randn(1, 2, 600, 8), torch.randn(1, 2, 600, 8)
torch.nn.functional.scaled_dot_product_attention(query, key, value).sum().backward()
print(query.grad.sum())
image = torch.randn(6, 3, 12, 12, dtype=torch.float64, requires_grad=True)
weight = torch.randn(3, 4, 3, 3, dtype=torch.float64, requires_grad=True)
torch.nn.functional.conv_transpose2d(image, weight).sum().backward()
print(image.grad.sum(), weight.grad.sum())
