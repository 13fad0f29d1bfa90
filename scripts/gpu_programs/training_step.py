"""Three steps of training, with an optimizer that keeps state."""

import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1)).to("cuda")
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
x = torch.linspace(-1, 1, 12, device="cuda").reshape(3, 4)
for _ in range(3):
    optimizer.zero_grad()
    loss = (net(x) - 1).square().mean()
    loss.backward()
    optimizer.step()
print(loss)
