import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 2))
print(model)

optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
target = torch.tensor([0, 1, 1, 0])

for step in range(2):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), target)
    loss.backward()
    optimizer.step()
    print(step, loss.item())
