"""A picture as a sequence of patches: einsum attention, a class token, GELU."""

import torch
import torch.nn.functional as F
from torch import nn


class Layer(nn.Module):
    """Attention over all patches."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.project = nn.ModuleDict({name: nn.Linear(width, width) for name in ("query", "key", "value", "out")})
        self.network = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(approximate="tanh"), nn.Linear(2 * width, width)
        )

    def attention(self, x):
        q, k, v = (self.project[name](x).unflatten(-1, (self.heads, -1)) for name in ("query", "key", "value"))
        weights = torch.einsum("bihd,bjhd->bhij", q, k).div(q.shape[-1] ** 0.5).softmax(dim=-1)
        mixed = torch.einsum("bhij,bjhd->bihd", weights, v)
        fused = F.scaled_dot_product_attention(*(part.transpose(1, 2) for part in (q, k, v)))
        assert torch.allclose(mixed, fused.transpose(1, 2), atol=1e-6)
        return self.project["out"](mixed.flatten(2))

    def forward(self, x):
        x = x + self.attention(self.norms[0](x))
        return x + self.network(self.norms[1](x))


torch.manual_seed(2)
pictures = torch.randn(2, 3, 8, 8)
patches = F.unfold(pictures, kernel_size=4, stride=4).transpose(1, 2)
print(patches.shape)
embed = nn.Linear(48, 16)
token = nn.Parameter(torch.zeros(1, 1, 16))
places = nn.Parameter(0.02 * torch.randn(1, 5, 16))
x = torch.cat([token.expand(2, -1, -1), embed(patches)], dim=1) + places
layers = nn.Sequential(Layer(16, 2), Layer(16, 4))
seen = layers(x)[:, 0]
print(seen)
seen.square().mean().backward()
print(token.grad.flatten()[:4], places.grad.norm(), embed.weight.grad.abs().max())
