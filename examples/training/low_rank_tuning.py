"""Tuning a trained network with few numbers (LoRA): its weights stay, and a product of two thin matrices is added."""

import torch
from torch import nn


class LowRank(nn.Module):
    """A linear layer that does not learn, and a correction that does."""

    def __init__(self, layer, rank=2, scale=0.5):
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, layer.in_features) / rank)
        self.up = nn.Parameter(torch.zeros(layer.out_features, rank))
        self.scale = scale

    def forward(self, x):
        return self.layer(x) + self.scale * (x @ self.down.mT @ self.up.mT)

    @torch.no_grad()
    def merged(self):
        """Return a single layer that computes the same."""
        self.layer.weight += self.scale * self.up @ self.down
        return self.layer


torch.manual_seed(7)
model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 4))
model.requires_grad_(False)
for name, layer in list(model.named_children()):
    if isinstance(layer, nn.Linear) and layer.out_features == 16:
        setattr(model, name, LowRank(layer))
learning = [parameter for parameter in model.parameters() if parameter.requires_grad]
print(sum(map(torch.numel, learning)), "of", sum(map(torch.numel, model.parameters())))
print([name for name in model.state_dict() if "layer" not in name])

inputs, labels = torch.randn(12, 8), torch.randint(0, 4, (12,))
optimizer = torch.optim.AdamW(learning, lr=0.05, weight_decay=0.0)
schedule = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.25, total_iters=3)
for epoch in range(5):
    loss = nn.functional.cross_entropy(model(inputs), labels, label_smoothing=0.1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    print(f"{epoch}: {loss:.4f}  {schedule.get_last_lr()[0]:.4f}")
print(model[0].layer.weight.grad, model[0].up.grad.norm())

before = model(inputs)
for name, layer in list(model.named_children()):
    if isinstance(layer, LowRank):
        setattr(model, name, layer.merged())
print(torch.allclose(before, model(inputs), atol=1e-6), model)
