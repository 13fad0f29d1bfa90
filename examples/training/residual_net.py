"""Residual blocks with batch norm, SGD with momentum, and a schedule of learning rates."""

import torch
from torch import nn


class Block(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, before, after):
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(after)
        self.second = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.norm_of_second = nn.BatchNorm2d(after)
        self.shortcut = nn.Identity() if before == after else nn.Conv2d(before, after, 1, bias=False)

    def forward(self, x):
        y = torch.relu(self.norm(self.first(x)))
        y = self.norm_of_second(self.second(y))
        y += self.shortcut(x)
        return y.relu_()


torch.manual_seed(1)
net = nn.Sequential(
    nn.Conv2d(3, 4, 3, padding=1),
    Block(4, 4),
    nn.MaxPool2d(2),
    Block(4, 8),
    nn.AvgPool2d(4),
    nn.Flatten(),
    nn.Linear(8, 5),
)
for part in net.modules():
    if isinstance(part, nn.Conv2d):
        nn.init.kaiming_normal_(part.weight, mode="fan_out", nonlinearity="relu")
print(net[3])

images, classes = torch.randn(6, 3, 8, 8), torch.tensor([0, 1, 2, 3, 4, 0])
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4, nesterov=True)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
for step in range(4):
    loss = criterion(net(images), classes)
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
    optimizer.step()
    schedule.step()
    print(f"step {step}: loss {loss:.3f}, gradient {norm:.3f}, next rate {schedule.get_last_lr()[0]:.3f}")

net.eval()
with torch.inference_mode():
    print(net(images).softmax(dim=-1).topk(2).indices.tolist())
