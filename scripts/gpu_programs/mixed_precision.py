"""Autocast and a gradient scaler, once with a gradient that overflows."""

import torch

w = torch.ones(4, 4, device="cuda", requires_grad=True)
x = torch.full((4, 4), 0.5, device="cuda")
optimizer = torch.optim.SGD([w], lr=0.1)
scaler = torch.amp.GradScaler("cuda", init_scale=2.0**10)
for factor in (1.0, 60000.0):
    optimizer.zero_grad()
    with torch.autocast("cuda"):
        loss = (x @ w).mul(factor).float().sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    print(scaler.get_scale(), w.dtype, loss.dtype)
