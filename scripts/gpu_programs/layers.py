"""Matrix products, a convolution, batch normalization and an embedding, with gradients."""

import torch

x = torch.linspace(-1, 1, 32, device="cuda").reshape(2, 1, 4, 4).requires_grad_()
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3, padding=1), torch.nn.BatchNorm2d(2), torch.nn.MaxPool2d(2)).to(
    "cuda"
)
table = torch.nn.Embedding(5, 4).to("cuda")
words = table(torch.tensor([[1, 3], [1, 4]], device="cuda"))
features = net(x).flatten(2).transpose(1, 2)
loss = torch.bmm(words, words.transpose(1, 2)).sum() + (features @ features.mT).sum()
loss.backward()
print(loss, table.weight.grad.norm(), x.grad.sum())
