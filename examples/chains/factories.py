"""Calls without a tensor argument, and so without keys from tensors: BackendSelect finds the backend in the options."""

import torch

torch.randn(2)  # the binding excludes autograd for the whole call
torch.ops.aten.randn([2])  # nothing excludes it: filling the tensor passes through autograd
torch.randn(2, device="cuda")
torch.randn(2, device="meta")

x = torch.ones(2)
x.to(torch.float64)  # BackendSelect runs between autograd and the backend
