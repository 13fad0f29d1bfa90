"""Two nets that compete: one paints with transposed convolutions, and one judges."""

import torch
from torch import nn

torch.manual_seed(5)
painter = nn.Sequential(
    nn.ConvTranspose2d(6, 8, kernel_size=4, bias=False),
    nn.BatchNorm2d(8),
    nn.ReLU(inplace=True),
    nn.ConvTranspose2d(8, 1, kernel_size=4, stride=2, padding=1),
    nn.Tanh(),
)
judge = nn.Sequential(
    nn.Conv2d(1, 8, kernel_size=4, stride=2, padding=1),
    nn.LeakyReLU(0.2, inplace=True),
    nn.Dropout2d(0.25),
    nn.Conv2d(8, 1, kernel_size=4),
    nn.Flatten(0),
)
for net in (painter, judge):
    for name, parameter in net.named_parameters():
        if name.endswith("weight") and parameter.dim() > 1:
            nn.init.normal_(parameter, 0.0, 0.1)

criterion = nn.BCEWithLogitsLoss()
painter_steps = torch.optim.Adam(painter.parameters(), lr=2e-3, betas=(0.5, 0.999))
judge_steps = torch.optim.Adam(judge.parameters(), lr=2e-3, betas=(0.5, 0.999))
yes, no = torch.ones(4), torch.zeros(4)
for step in range(3):
    painted = painter(torch.randn(4, 6, 1, 1))
    judge_steps.zero_grad()
    judged = criterion(judge(torch.randn(4, 1, 8, 8)), yes) + criterion(judge(painted.detach()), no)
    judged.backward()
    judge_steps.step()
    painter_steps.zero_grad()
    believed = criterion(judge(painted), yes)
    believed.backward()
    painter_steps.step()
    print(f"step {step}: judge {judged.item():.4f}, painter {believed.item():.4f}")
print(painter[1].running_mean)
