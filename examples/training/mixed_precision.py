"""Autocast, gradients gathered over small batches, half precision and its limits."""

import torch
from torch import nn

torch.manual_seed(17)
net = nn.Sequential(nn.Linear(4, 8), nn.SiLU(), nn.Linear(8, 1))
inputs, targets = torch.randn(6, 4), torch.randn(6, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    for part in range(3):
        rows = slice(2 * part, 2 * part + 2)
        with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
            guess = net(inputs[rows])
            loss = nn.functional.mse_loss(guess, targets[rows]) / 3
        loss.backward()
    print(f"epoch {epoch}: {guess.dtype}, {loss.dtype}, {net[0].weight.grad.dtype}")
    optimizer.step()
    optimizer.zero_grad()
half = torch.tensor([1.0, 2048.0, 65504.0]).half()
print(half + 1, half * 2, half + torch.ones(3), torch.finfo(torch.bfloat16).eps)
print(torch.tensor([3, 200], dtype=torch.uint8) + 100, torch.tensor([1, 2]) / 2, (torch.tensor([1, 2]) + 0.5).dtype)
