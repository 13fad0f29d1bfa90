"""A diffusion model of points on a circle: noise is added step by step, and a network learns to remove it again."""

import math

import torch
from torch import nn

STEPS = 8
betas = torch.linspace(0.02, 0.4, STEPS)
kept = (1 - betas).cumprod(0)
"""The share of the picture's variance that is left after each step."""


class Denoiser(nn.Module):
    """A network that guesses the noise in a point from the point and the number of the step."""

    def __init__(self, width=24):
        super().__init__()
        self.register_buffer("frequencies", 2.0 ** torch.arange(3))
        self.enter = nn.Linear(2, width)
        self.step = nn.Linear(6, width)
        self.leave = nn.Sequential(nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))

    def forward(self, points, step):
        angles = step[:, None] / STEPS * self.frequencies
        waves = torch.cat([angles.sin(), angles.cos()], dim=1)
        return self.leave(self.enter(points) + self.step(waves))


torch.manual_seed(5)
model = Denoiser()
average = {name: value.detach().clone() for name, value in model.named_parameters()}
optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
for epoch in range(4):
    angle = torch.rand(16) * 2 * math.pi
    clean = torch.stack([angle.cos(), angle.sin()], dim=1)
    step = torch.randint(0, STEPS, (16,))
    noise = torch.randn_like(clean)
    share = kept[step].unsqueeze(1)
    noisy = share.sqrt() * clean + (1 - share).sqrt() * noise
    loss = (model(noisy, step) - noise).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for name, value in model.named_parameters():
            average[name].lerp_(value, 0.2)
    print(f"{epoch}: {loss:.4f}")


@torch.no_grad()
def drawn(count):
    """Start with noise alone and go back through the steps."""
    points = torch.randn(count, 2)
    for i in reversed(range(STEPS)):
        guess = torch.func.functional_call(model, average, (points, torch.full((count,), i)))
        points = (points - betas[i] / (1 - kept[i]).sqrt() * guess) / (1 - betas[i]).sqrt()
        if i > 0:
            points += betas[i].sqrt() * torch.randn_like(points)
    return points


print(drawn(3))
