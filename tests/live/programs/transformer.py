"""A transformer block with multi-head attention, in train and in eval mode."""

import torch
from graph import walk
from torch import nn

torch.manual_seed(1)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(8), nn.MultiheadAttention(8, 2, dropout=0.1, batch_first=True)
        self.mlp = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))

    def forward(self, x):
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(x)


block, tokens = Block(), nn.Embedding(10, 8)
ids = torch.tensor([[1, 2, 3], [4, 5, 6]])
for mode in (True, False):
    block.train(mode)
    loss = block(tokens(ids)).pow(2).mean()
    walk(loss)
    loss.backward()
    print(loss.item().hex(), tokens.weight.grad.sum().item().hex())
    with torch.no_grad():
        print(block(tokens(ids)).tolist())
layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
with torch.inference_mode():
    print(layer(tokens(ids)).tolist())
y = layer(tokens(ids), src_key_padding_mask=torch.tensor([[False, False, True]] * 2))
print(y.sum().item().hex(), y.grad_fn)
rnn = nn.LSTM(4, 3)
out, (h, c) = rnn(torch.ones(2, 1, 4))
out.sum().backward()
print(out.tolist(), rnn.weight_ih_l0.grad.tolist())
conv = nn.Conv2d(1, 2, 3, padding=1)
image = torch.arange(16.0).view(1, 1, 4, 4).requires_grad_()
nn.functional.max_pool2d(conv(image), 2).sum().backward()
print(conv.weight.grad.tolist(), image.grad.tolist())
