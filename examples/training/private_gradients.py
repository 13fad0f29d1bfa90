"""A gradient for each example (torch.func), clipped and made noisy, so that training reveals little of any example."""

import torch
from torch import nn
from torch.func import functional_call, grad_and_value, vmap


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(1, 3, 3)
        self.norm = nn.GroupNorm(3, 3)
        self.last = nn.Linear(12, 3)

    def forward(self, pictures):
        x = torch.relu(self.norm(self.convolution(pictures)))
        return self.last(nn.functional.max_pool2d(x, 2).flatten(1))


torch.manual_seed(9)
model = Net()
pictures, labels = torch.randn(6, 1, 6, 6), torch.tensor([0, 1, 2, 0, 1, 2])
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.5)


def loss_of(parameters, picture, label):
    scores = functional_call(model, parameters, (picture.unsqueeze(0),))
    return nn.functional.cross_entropy(scores, label.unsqueeze(0))


for epoch in range(2):
    parameters = {name: parameter.detach() for name, parameter in model.named_parameters()}
    slopes, losses = vmap(grad_and_value(loss_of), in_dims=(None, 0, 0))(parameters, pictures, labels)
    norms = torch.stack([slope.flatten(1).norm(dim=1) for slope in slopes.values()]).norm(dim=0)
    shrunk = (1.0 / norms).clamp(max=1.0)
    for name, parameter in model.named_parameters():
        clipped = torch.einsum("n,n...->...", shrunk, slopes[name])
        parameter.grad = (clipped + 0.1 * torch.randn_like(clipped)) / len(labels)
    optimizer.step()
    print(f"{epoch}: {losses.mean():.4f}", norms)

optimizer.zero_grad()
mean = nn.functional.cross_entropy(model(pictures), labels)
mean.backward()
print(model.last.bias.grad, model.convolution.weight.grad.shape)
