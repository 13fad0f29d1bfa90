"""A small convolution net that learns to distinguish bright columns from bright rows."""

import torch
from torch import nn

torch.manual_seed(0)
pictures = 0.3 * torch.randn(24, 1, 8, 8)
labels = torch.arange(24) % 2
for picture, label in zip(pictures, labels):
    at = torch.randint(8, ()).item()
    if label == 1:
        picture[0, :, at] += 2
    else:
        picture[0, at] += 2

net = nn.Sequential(
    nn.Conv2d(1, 4, kernel_size=3, padding=1, bias=False),
    nn.BatchNorm2d(4),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(4, 8, kernel_size=3),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(8, 2),
)
print(net)
print("parameters:", sum(p.numel() for p in net.parameters()))

optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
for epoch in range(8):
    loss = nn.functional.cross_entropy(net(pictures), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}")

net.eval()
with torch.no_grad():
    guesses = net(pictures).argmax(dim=1)
print("right:", (guesses == labels).sum().item(), "of", len(labels))
