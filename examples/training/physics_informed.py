"""A net that solves an oscillator's equation: second derivatives inside the loss."""

import torch
from torch import nn

torch.manual_seed(13)
net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
start = torch.zeros(1, 1, requires_grad=True)
times = torch.linspace(0, 1, 9).view(-1, 1).requires_grad_()


def derivative(y, x):
    """Differentiate each element of y; the result can be differentiated again."""
    return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]


optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(4):
    place = net(start)
    at_start = (place - 1).square() + derivative(place, start).square()
    path = net(times)
    speed = derivative(path, times)
    equation = (derivative(speed, times) + 2 * speed + 9 * path).square().mean()
    loss = at_start.squeeze() + 0.01 * equation
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}: {loss.item():.5f}")
print(times.grad.flatten())
