"""Training steps of an MLP with dropout, by SGD and by Adam."""

import torch
from graph import walk
from torch import nn

torch.manual_seed(7)
net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2))
data, target = torch.randn(16, 4), torch.randint(0, 2, (16,))
for optimizer in (
    torch.optim.SGD(net.parameters(), 0.1, momentum=0.9),
    torch.optim.Adam(net.parameters(), 0.01),
    torch.optim.AdamW(net.parameters(), 0.01, foreach=True),
):
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    for _ in range(2):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(data), target)
        walk(loss)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        print(loss.item().hex(), norm.item().hex(), scheduler.get_last_lr())
for name, tensor in net.state_dict().items():
    print(name, tensor.tolist(), vars(tensor))
print(net, optimizer.state_dict()["state"][0], torch.rand(3).tolist())
