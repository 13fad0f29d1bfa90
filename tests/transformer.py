"""A training step of a transformer of 12 layers, and its trace."""

from __future__ import annotations

import functools

from dispatchviz.core.record.trace_file import Trace
from tests.explain.programs import traced

LAYERS = 12

PROGRAM = f"""
import math
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attention(self, x):
        batch, length, width = x.shape
        heads = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = heads.permute(2, 0, 3, 1, 4).unbind(0)
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // self.heads)
        mixed = scores.softmax(-1) @ v
        return self.proj(mixed.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, words, width, heads, layers):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.layers = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


model = Model(16, 8, 2, {LAYERS})
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
tokens = torch.randint(16, (2, 4))
logits = model(tokens[:, :-1])
loss = F.cross_entropy(logits.reshape(-1, 16), tokens[:, 1:].reshape(-1))
loss.backward()
optimizer.step()
"""


@functools.cache
def transformer() -> Trace:
    """The trace of one step: forward, backward, update."""
    return traced(PROGRAM)
