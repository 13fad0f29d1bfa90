"""A counting model and its neural twin: one-hot letters, many kinds of indexing, sampling."""

import torch
import torch.nn.functional as F

NAMES = ["anna", "lena", "nora", "nele", "lea"]
letters = [".", *sorted(set("".join(NAMES)))]
place = {letter: i for i, letter in enumerate(letters)}
pairs = [(a, b) for name in NAMES for a, b in zip("." + name, name + ".")]

counts = torch.zeros(len(letters), len(letters), dtype=torch.int32)
for a, b in pairs:
    counts[place[a], place[b]] += 1
print(counts)
chances = (counts + 1).float()
chances /= chances.sum(dim=1, keepdim=True)

generator = torch.Generator().manual_seed(2147483647)
for _ in range(3):
    name, at = "", 0
    while True:
        at = torch.multinomial(chances[at], num_samples=1, replacement=True, generator=generator).item()
        if at == 0:
            break
        name += letters[at]
    print(name)

before, after = (torch.tensor([place[letter] for letter in side]) for side in zip(*pairs))
weights = torch.randn(len(letters), len(letters), generator=generator, requires_grad=True)
for step in range(4):
    scores = F.one_hot(before, num_classes=len(letters)).float() @ weights
    probabilities = scores.exp() / scores.exp().sum(dim=1, keepdim=True)
    loss = -probabilities[torch.arange(len(pairs)), after].log().mean() + 0.01 * (weights**2).mean()
    weights.grad = None
    loss.backward()
    weights.data += -10 * weights.grad
    print(f"step {step}: {loss.item():.4f}")
print(weights[0], weights[[1, 2], [3, 4]], weights[weights > 2].numel() > 0)
