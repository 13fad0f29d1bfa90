"""A key that is included by hand: Tracer comes before autograd, does its part and redispatches to everything below."""

import torch

x = torch.ones(2, 2)
y = torch.ones(2, 2)

with torch._C._IncludeDispatchKeyGuard(torch._C._dispatch_key_parse("Tracer")):
    torch.add(x, y)
    torch.matmul(x, y)  # the key is still set when matmul is decomposed: a real trace removes it meanwhile
