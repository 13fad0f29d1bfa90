"""Losses whose targets do not fit."""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

BEGIN = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"

CASES = [
    Case(
        "a class too many",
        BEGIN + "logits = torch.ones(3, 5)\ny = torch.tensor([1, 5, 2])\nl = F.cross_entropy(logits, y)",
        "indices: class out of range",
        (
            "cross_entropy on line 6",
            "gets targets y with the class 5, but logits [3, 5] has 5 classes",
            "numbered 0 to 4",
        ),
        "If the classes in y count from 1, subtract 1",
        BEGIN + "logits = torch.ones(3, 5)\ny = torch.tensor([1, 5, 2])\nl = F.cross_entropy(logits, y - 1)",
    ),
    Case(
        "a module",
        BEGIN + "net = nn.Linear(4, 3)\nlossf = nn.CrossEntropyLoss()\ny = torch.tensor([1, 7])\n"
        "l = lossf(net(torch.ones(2, 4)), y)",
        "indices: class out of range",
        ("with the class 7, but the result of linear on line 7 [2, 3] has 3 classes",),
        "Correct the class 7 in y, made on line 6",
        fixed=("[1, 7]", "[1, 2]"),
    ),
    Case(
        "weights of the classes",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 3)
                self.register_buffer("rare", torch.ones(3))

            def forward(self, x, y):
                return nn.functional.cross_entropy(self.fc(x), y, weight=self.rare)

        net = Net()
        labels = torch.tensor([0, 9])
        net(torch.ones(2, 4), labels)
        """,
        "indices: class out of range",
        ("cross_entropy on line 11", "targets labels with the class 9", "[2, 3] has 3 classes"),
        "Correct the class 9 in labels, made on line 14",
        fixed=("[0, 9]", "[0, 2]"),
    ),
    Case(
        "nll_loss",
        BEGIN + "lp = torch.ones(2, 3).log_softmax(1)\nt = torch.tensor([0, -1])\nl = F.nll_loss(lp, t)",
        "indices: class out of range",
        ("nll_loss on line 6", "gets targets t with the class -1, but lp [2, 3] has 3 classes"),
        "Correct the class -1 in t, made on line 5",
        BEGIN
        + "lp = torch.ones(2, 3).log_softmax(1)\nt = torch.tensor([0, -1])\nl = F.nll_loss(lp, t, ignore_index=-1)",
    ),
    Case(
        "batches",
        BEGIN + "logits = torch.ones(3, 5)\ny = torch.tensor([1, 2])\nl = F.cross_entropy(logits, y)",
        "shapes: samples of a loss",
        ("compares 3 predictions with 2 targets", "logits has sizes [3, 5] and y has sizes [2]"),
        "Give logits and y the same first size",
        BEGIN + "logits = torch.ones(3, 5)\ny = torch.tensor([1, 2, 0])\nl = F.cross_entropy(logits, y)",
    ),
    Case(
        "a flattened batch",
        BEGIN + "out = torch.ones(2, 7, 5)\ny = torch.zeros(2, 7, dtype=torch.long)\n"
        "l = F.cross_entropy(out.view(-1, 5), y[0])",
        "shapes: samples of a loss",
        ("compares 14 predictions with 7 targets",),
        "the same first size",
        fixed=("y[0]", "y.view(-1)"),
    ),
    Case(
        "nll of batches",
        BEGIN + "lp = torch.ones(4, 3)\nt = torch.zeros(1, dtype=torch.long)\nl = F.nll_loss(lp, t)",
        "shapes: samples of a loss",
        ("nll_loss on line 6", "compares 4 predictions with 1 target,"),
        "Give lp and t the same first size",
        fixed=("zeros(1,", "zeros(4,"),
    ),
    Case(
        "targets as a column",
        BEGIN + "logits = torch.ones(3, 5)\ny = torch.zeros(3, 1, dtype=torch.long)\nl = F.cross_entropy(logits, y)",
        "shapes: targets with many dimensions",
        ("one class for each of the 3 samples of logits [3, 5], but y has 2 dimensions, [3, 1]",),
        "y.squeeze(1) has sizes [3]",
        BEGIN + "logits = torch.ones(3, 5)\ny = torch.zeros(3, 1, dtype=torch.long)\n"
        "l = F.cross_entropy(logits, y.squeeze(1))",
    ),
    Case(
        "one-hot targets",
        BEGIN + "logits = torch.ones(3, 5)\ny = F.one_hot(torch.arange(3), 5)\nl = F.nll_loss(logits, y)",
        "shapes: targets with many dimensions",
        ("but y has 2 dimensions, [3, 5]",),
        "y.argmax(1)",
        BEGIN + "logits = torch.ones(3, 5)\ny = F.one_hot(torch.arange(3), 5)\nl = F.nll_loss(logits, y.argmax(1))",
    ),
    Case(
        "targets of other sizes",
        BEGIN
        + "logits = torch.ones(3, 5)\ny = torch.zeros(3, 2, dtype=torch.long)\nl = nn.CrossEntropyLoss()(logits, y)",
        "shapes: targets with many dimensions",
        ("but y has 2 dimensions, [3, 2]",),
        "Give y sizes [3]",
        fixed=("zeros(3, 2,", "zeros(3,"),
    ),
    Case(
        "classes last",
        BEGIN + "logits = torch.ones(2, 7, 5)\ny = torch.zeros(2, 7, dtype=torch.long)\nl = F.cross_entropy(logits, y)",
        "shapes: targets of a sequence",
        ("takes the classes of logits [2, 7, 5] from dimension 1 (7 classes)", "sizes [2, 5]; y has [2, 7]"),
        "logits.movedim(-1, 1)",
        BEGIN + "logits = torch.ones(2, 7, 5)\ny = torch.zeros(2, 7, dtype=torch.long)\n"
        "l = F.cross_entropy(logits.movedim(-1, 1), y)",
    ),
    Case(
        "segmentation",
        BEGIN
        + "out = torch.ones(1, 4, 8, 8)\nmask = torch.zeros(1, 9, 8, dtype=torch.long)\nl = F.cross_entropy(out, mask)",
        "shapes: targets of a sequence",
        ("(4 classes)", "sizes [1, 8, 8]; mask has [1, 9, 8]"),
        "Give mask sizes [1, 8, 8]",
        fixed=("(1, 9, 8,", "(1, 8, 8,"),
    ),
    Case(
        "a sequence of another length",
        BEGIN + "out = torch.ones(2, 5, 7)\ny = torch.zeros(2, 6, dtype=torch.long)\nl = nn.NLLLoss()(out, y)",
        "shapes: targets of a sequence",
        ("sizes [2, 7]; y has [2, 6]",),
        "Give y sizes [2, 7]",
        fixed=("zeros(2, 6,", "zeros(2, 7,"),
    ),
    Case(
        "binary cross entropy",
        BEGIN + "p = torch.full((4, 1), 0.5)\nt = torch.zeros(4)\nl = F.binary_cross_entropy(p, t)",
        "shapes: sizes of a loss",
        ("Line 6 (l = F.binary_cross_entropy(p, t)) compares p with sizes [4, 1] and t with sizes [4]",),
        "t.unsqueeze(-1) has sizes [4, 1]",
        BEGIN + "p = torch.full((4, 1), 0.5)\nt = torch.zeros(4)\nl = F.binary_cross_entropy(p, t.unsqueeze(-1))",
    ),
    Case(
        "BCELoss",
        BEGIN + "lossf = nn.BCELoss()\np = torch.full((4,), 0.5)\nt = torch.zeros(3)\nl = lossf(p, t)",
        "shapes: sizes of a loss",
        ("compares p with sizes [4] and t with sizes [3]",),
        "Give p and t the same sizes",
        fixed=("zeros(3)", "zeros(4)"),
    ),
    Case(
        "BCELoss of a function",
        BEGIN + "def f(a, b):\n    return F.binary_cross_entropy(a, b)\n"
        "probs, labels = torch.full((4,), 0.5), torch.zeros(4, 1)\nf(probs, labels)",
        "shapes: sizes of a loss",
        ("Line 5 (return F.binary_cross_entropy(a, b)) compares", "with sizes [4]", "with sizes [4, 1]"),
        "unsqueeze(-1) of the input has sizes [4, 1]",
        fixed=("f(probs, labels)", "f(probs.unsqueeze(-1), labels)"),
    ),
]
