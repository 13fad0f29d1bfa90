"""Pictures of the same thing should lie close together: normalized embeddings, three losses, distances."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(11)
things = torch.randn(5, 4)
one, other = (things + 0.1 * torch.randn(5, 4) for _ in range(2))
encoder = nn.Sequential(nn.Linear(4, 8), nn.PReLU(), nn.Linear(8, 3))
optimizer = torch.optim.Adagrad(encoder.parameters(), lr=0.1)
for step in range(4):
    a, b = (F.normalize(encoder(view), dim=1) for view in (one, other))
    similar = a @ b.T / 0.2
    loss = (F.cross_entropy(similar, torch.arange(5)) + F.cross_entropy(similar.T, torch.arange(5))) / 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}: {loss.item():.4f}")

with torch.no_grad():
    a, b = encoder(one), encoder(other)
print(F.cosine_similarity(a, b))
print(F.pairwise_distance(a, b))
print(nn.TripletMarginLoss()(a, b, b.roll(1, dims=0)), nn.CosineEmbeddingLoss()(a, b, torch.ones(5)))
print((a.unsqueeze(1) - b).norm(dim=-1).argmin(dim=1))
