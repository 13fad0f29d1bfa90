"""A tiny language model: causal attention, a training loop, and text drawn from it."""

import torch
import torch.nn.functional as F
from torch import nn

TEXT = "the cat sat on the mat and the dog sat on the cat "
letters = sorted(set(TEXT))
data = torch.tensor([letters.index(letter) for letter in TEXT])
CONTEXT, WIDTH, HEADS = 8, 16, 2


class Layer(nn.Module):
    """Attention to earlier letters, then a network for each letter."""

    def __init__(self):
        super().__init__()
        self.before_attention, self.before_network = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query_key_value = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.network = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
        self.register_buffer("hidden", torch.triu(torch.ones(CONTEXT, CONTEXT, dtype=torch.bool), diagonal=1))

    def attention(self, x):
        batch, length, _ = x.shape
        parts = self.query_key_value(x).view(batch, length, 3, HEADS, WIDTH // HEADS)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / (WIDTH // HEADS) ** 0.5
        scores = scores.masked_fill(self.hidden[:length, :length], float("-inf"))
        return self.out((scores.softmax(dim=-1) @ v).transpose(1, 2).reshape(batch, length, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.before_attention(x))
        return x + self.network(self.before_network(x))


class Model(nn.Module):
    """A model that maps letters to a score for each possible next letter."""

    def __init__(self):
        super().__init__()
        self.letter, self.place = nn.Embedding(len(letters), WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.layers = nn.Sequential(Layer(), Layer())
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, len(letters))

    def forward(self, letters):
        x = self.letter(letters) + self.place(torch.arange(letters.shape[1]))
        return self.head(self.norm(self.layers(x)))


torch.manual_seed(1337)
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for step in range(6):
    starts = torch.randint(len(data) - CONTEXT, (4,))
    inputs = torch.stack([data[i : i + CONTEXT] for i in starts])
    targets = torch.stack([data[i + 1 : i + CONTEXT + 1] for i in starts])
    loss = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    print(f"step {step}: {loss.item():.4f}")

model.eval()
line = torch.zeros((1, 1), dtype=torch.long)
with torch.no_grad():
    for _ in range(12):
        scores = model(line[:, -CONTEXT:])[:, -1] / 0.8
        line = torch.cat([line, torch.multinomial(scores.softmax(dim=-1), num_samples=1)], dim=1)
print(repr("".join(letters[i] for i in line[0].tolist())))
