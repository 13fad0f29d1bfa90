"""A variational autoencoder: noise made differentiable, and a loss of two parts."""

import torch
import torch.nn.functional as F
from torch import nn


class Autoencoder(nn.Module):
    """An encoder from sixteen pixels to a point in two dimensions with its uncertainty, and a decoder back."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(16, 12), nn.Tanh(), nn.Linear(12, 4))
        self.decoder = nn.Sequential(nn.Linear(2, 12), nn.Tanh(), nn.Linear(12, 16), nn.Sigmoid())

    def forward(self, pixels):
        mean, log_variance = self.encoder(pixels).chunk(2, dim=-1)
        noise = torch.randn_like(mean)
        point = mean + noise * (log_variance / 2).exp()
        return self.decoder(point), mean, log_variance


torch.manual_seed(3)
model = Autoencoder()
pixels = (torch.rand(10, 16) > 0.5).float()
optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
for epoch in range(5):
    again, mean, log_variance = model(pixels)
    difference = F.binary_cross_entropy(again, pixels, reduction="sum")
    divergence = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum()
    loss = (difference + divergence) / len(pixels)
    model.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{epoch}: {difference:.3f} + {divergence:.3f}")

with torch.no_grad():
    print(model.decoder(torch.tensor([[0.0, 0.0], [1.0, -1.0]])).round(decimals=2))
