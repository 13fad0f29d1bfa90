"""Deep Q-learning on made-up memories: gather, a mask, and a target net that follows slowly."""

import torch
from torch import nn

torch.manual_seed(7)


def make_net():
    return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))


policy, target = make_net(), make_net()
print(target.load_state_dict(policy.state_dict()))
states, following, rewards = torch.randn(12, 4), torch.randn(12, 4), torch.rand(12)
goes_on = torch.arange(12) % 4 != 0
with torch.no_grad():
    actions = policy(states).max(dim=1, keepdim=True).indices
print(actions.flatten())

optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-2, amsgrad=True)
criterion = nn.SmoothL1Loss()
for step in range(4):
    chosen = policy(states).gather(1, actions).squeeze(1)
    later = torch.zeros(12)
    with torch.no_grad():
        later[goes_on] = target(following[goes_on]).amax(dim=1)
    loss = criterion(chosen, rewards + 0.9 * later)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), policy.parameters()):
            slow.lerp_(fast, 0.05)
    print(f"step {step}: {loss.item():.5f}")
print(target[2].bias)
