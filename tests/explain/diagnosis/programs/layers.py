"""Inputs that a convolution, a normalization or a recurrent layer cannot take."""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

BEGIN = "import torch\nfrom torch import nn\n"

NET = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm1d(channels)

    def forward(self, x):
        return self.norm(x)

block = Block(6)
y = block(torch.ones(4, 5))
"""

CASES = [
    Case(
        "channels in a Sequential",
        BEGIN + "net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Conv2d(16, 4, 3))\ny = net(torch.ones(1, 3, 9, 9))",
        "shapes: channels of a convolution",
        (
            "net.1 (Conv2d) on line 4",
            "but its input, the result of the first conv2d on line 4, has 8",
        ),
        "Make net.1 take 8 channels: write nn.Conv2d(8, 4, 3) instead of nn.Conv2d(16, 4, 3) on line 3",
        BEGIN + "net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Conv2d(8, 4, 3))\ny = net(torch.ones(1, 3, 9, 9))",
    ),
    Case(
        "channels last",
        BEGIN + "conv = nn.Conv2d(3, 8, 3)\nx = torch.ones(4, 28, 28, 3)\ny = conv(x)",
        "shapes: channels of a convolution",
        ("takes 3 channels, but its input x has 28, in dimension 1", "sizes [4, 28, 28, 3]"),
        "x.movedim(-1, 1) has sizes [4, 3, 28, 28]",
        BEGIN + "conv = nn.Conv2d(3, 8, 3)\nx = torch.ones(4, 28, 28, 3)\ny = conv(x.movedim(-1, 1))",
    ),
    Case(
        "a sequence without a batch",
        BEGIN + "conv = nn.Conv1d(4, 8, 3)\nx = torch.ones(10, 7)\ny = conv(x)",
        "shapes: channels of a convolution",
        ("conv (Conv1d) on line 5", "takes 4 channels, but its input x has 10, in dimension 0"),
        "nn.Conv1d(10, 8, 3) instead of nn.Conv1d(4, 8, 3) on line 3",
        BEGIN + "conv = nn.Conv1d(10, 8, 3)\nx = torch.ones(10, 7)\ny = conv(x)",
    ),
    Case(
        "groups",
        BEGIN + "conv = nn.Conv2d(4, 8, 1, groups=2)\nx = torch.ones(1, 6, 5, 5)\ny = conv(x)",
        "shapes: channels of a convolution",
        ("takes 4 channels, but its input x has 6, in dimension 1",),
        "nn.Conv2d(6, 8, 1, groups=2)",
        BEGIN + "conv = nn.Conv2d(6, 8, 1, groups=2)\nx = torch.ones(1, 6, 5, 5)\ny = conv(x)",
    ),
    Case(
        "an image without channels",
        BEGIN + "conv = nn.Conv2d(1, 8, 3)\nx = torch.ones(28, 28)\ny = conv(x)",
        "shapes: dimensions of a layer's input",
        ("takes inputs with 3 dimensions", "Its input x has 2: sizes [28, 28]"),
        "x.unsqueeze(0) has sizes [1, 28, 28]",
        BEGIN + "conv = nn.Conv2d(1, 8, 3)\nx = torch.ones(28, 28)\ny = conv(x.unsqueeze(0))",
    ),
    Case(
        "a video in conv2d",
        BEGIN + "conv = nn.Conv2d(1, 8, 3)\nvideo = torch.ones(2, 1, 5, 28, 28)\ny = conv(video)",
        "shapes: dimensions of a layer's input",
        ("Its input video has 5: sizes [2, 1, 5, 28, 28]",),
        "Reshape video to 3 or 4 dimensions",
        fixed=("conv(video)", "conv(video.flatten(0, 1).movedim(0, 1).reshape(10, 1, 28, 28))"),
    ),
    Case(
        "a vector in conv1d",
        BEGIN + "wave = torch.ones(100)\nw = torch.ones(2, 1, 3)\ny = nn.functional.conv1d(wave, w)",
        "shapes: dimensions of a layer's input",
        ("conv1d on line 5", "Its input wave has 1: sizes [100]"),
        "wave.unsqueeze(0) has sizes [1, 100]",
        BEGIN + "wave = torch.ones(100)\nw = torch.ones(2, 1, 3)\ny = nn.functional.conv1d(wave.unsqueeze(0), w)",
    ),
    Case(
        "kernel",
        BEGIN + "conv = nn.Conv2d(1, 8, 5)\nx = torch.ones(1, 1, 3, 3)\ny = conv(x)",
        "shapes: kernel larger than its input",
        ("conv (Conv2d) on line 5", "has a kernel of 5 x 5, but its padded input x is only 3 x 3"),
        "Give conv a smaller kernel",
        BEGIN + "conv = nn.Conv2d(1, 8, 3)\nx = torch.ones(1, 1, 3, 3)\ny = conv(x)",
    ),
    Case(
        "kernel of a second layer",
        BEGIN + "net = nn.Sequential(nn.Conv1d(1, 2, 4), nn.Conv1d(2, 2, 4))\ny = net(torch.ones(1, 1, 6))",
        "shapes: kernel larger than its input",
        (
            "net.1 (Conv1d) on line 4",
            "but its padded input, the result of the first conv1d on line 4, is only 3",
        ),
        "Give net.1 a smaller kernel",
        fixed=("nn.Conv1d(2, 2, 4)", "nn.Conv1d(2, 2, 3)"),
    ),
    Case(
        "kernel with padding",
        BEGIN + "x = torch.ones(1, 1, 2, 2)\nw = torch.ones(1, 1, 5, 5)\ny = nn.functional.conv2d(x, w, padding=1)",
        "shapes: kernel larger than its input",
        ("conv2d on line 5", "has a kernel of 5 x 5, but its padded input x is only 4 x 4"),
        "Give it a smaller kernel or more padding",
        BEGIN + "x = torch.ones(1, 1, 2, 2)\nw = torch.ones(1, 1, 5, 5)\ny = nn.functional.conv2d(x, w, padding=2)",
    ),
    Case(
        "batch norm",
        BEGIN + "bn = nn.BatchNorm1d(4)\nx = torch.ones(2, 3)\ny = bn(x)",
        "shapes: channels of a normalization",
        ("bn (BatchNorm1d) on line 5", "normalizes 4 channels, but its input x has 3, in dimension 1"),
        "nn.BatchNorm1d(3) instead of nn.BatchNorm1d(4) on line 3",
        BEGIN + "bn = nn.BatchNorm1d(3)\nx = torch.ones(2, 3)\ny = bn(x)",
    ),
    Case(
        "batch norm of the user's module",
        NET,
        "shapes: channels of a normalization",
        ("norm (BatchNorm1d) on line 10 (return self.norm(x)) normalizes 6 channels, but its input",),
        "Make norm, created on line 7 as nn.BatchNorm1d(channels), take 5 channels",
        fixed=("Block(6)", "Block(5)"),
    ),
    Case(
        "batch norm after a convolution",
        BEGIN
        + "net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(num_features=8))\ny = net(torch.ones(1, 1, 5, 5))",
        "shapes: channels of a normalization",
        (
            "net.1 (BatchNorm2d) on line 4",
            "normalizes 8 channels, but its input, the result of conv2d on line 4, has 4",
        ),
        "nn.BatchNorm2d(num_features=4) instead of nn.BatchNorm2d(num_features=8) on line 3",
        BEGIN
        + "net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(num_features=4))\ny = net(torch.ones(1, 1, 5, 5))",
    ),
    Case(
        "layer norm",
        BEGIN + "ln = nn.LayerNorm(4)\nx = torch.ones(2, 3)\ny = ln(x)",
        "shapes: layer norm",
        ("ln (LayerNorm) on line 5", "whose last sizes are [4]; those of its input x are [3]"),
        "Give ln the normalized_shape [3]",
        BEGIN + "ln = nn.LayerNorm(3)\nx = torch.ones(2, 3)\ny = ln(x)",
    ),
    Case(
        "layer norm over two dimensions",
        BEGIN + "ln = nn.LayerNorm([4, 5])\nx = torch.ones(2, 5, 4)\ny = ln(x)",
        "shapes: layer norm",
        ("whose last sizes are [4, 5]; those of its input x are [5, 4]",),
        "Give ln the normalized_shape [5, 4]",
        BEGIN + "ln = nn.LayerNorm([5, 4])\nx = torch.ones(2, 5, 4)\ny = ln(x)",
    ),
    Case(
        "layer_norm without a module",
        BEGIN + "x = torch.ones(2, 5)\ny = nn.functional.layer_norm(x, (2,))",
        "shapes: layer norm",
        ("layer_norm on line 4", "whose last sizes are [2]; those of its input x are [5]"),
        "Give it the normalized_shape [5]",
        BEGIN + "x = torch.ones(2, 5)\ny = nn.functional.layer_norm(x, (5,))",
    ),
    Case(
        "LSTM",
        BEGIN + "rnn = nn.LSTM(10, 20)\nx = torch.ones(5, 3, 8)\ny = rnn(x)",
        "shapes: features of a recurrent layer",
        ("rnn on line 5 (y = rnn(x)) takes inputs whose last size is 10, but that of x is 8",),
        "Create rnn for inputs of size 8",
        BEGIN + "rnn = nn.LSTM(8, 20)\nx = torch.ones(5, 3, 8)\ny = rnn(x)",
    ),
    Case(
        "GRU",
        BEGIN + "gru = nn.GRU(4, 2, batch_first=True)\nwords = torch.ones(5, 3, 6)\nout, h = gru(words)",
        "shapes: features of a recurrent layer",
        ("gru on line 5", "takes inputs whose last size is 4, but that of words is 6"),
        "Create gru for inputs of size 6",
        BEGIN + "gru = nn.GRU(6, 2, batch_first=True)\nwords = torch.ones(5, 3, 6)\nout, h = gru(words)",
    ),
    Case(
        "attention",
        BEGIN + "att = nn.MultiheadAttention(8, 2)\nx = torch.ones(5, 3, 6)\ny = att(x, x, x)",
        "shapes: features of a recurrent layer",
        ("att on line 5", "takes inputs whose last size is 8, but that of x is 6"),
        "Create att for inputs of size 6",
        BEGIN + "att = nn.MultiheadAttention(6, 2)\nx = torch.ones(5, 3, 6)\ny = att(x, x, x)",
    ),
]
