"""Random numbers of the default generator and of one's own, before and after a seed, and dropout."""

import torch

torch.manual_seed(3)
own = torch.Generator("cuda").manual_seed(5)
first = torch.rand(2, 3, device="cuda")
again = torch.rand(2, 3, device="cuda", generator=own)
torch.manual_seed(3)
print(torch.equal(first, torch.rand(2, 3, device="cuda")), first, again)
print(torch.randperm(6, device="cuda"), torch.randint(9, (4,), device="cuda"))
x = torch.ones(8, device="cuda", requires_grad=True)
torch.nn.functional.dropout(x, 0.5).sum().backward()
print(x.grad)
