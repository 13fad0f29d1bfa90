"""Programs with errors of Python, calls that match no signature, and errors whose cause no rule knows."""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

BEGIN = "import torch\n"

NET = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 2)

    def forward(self, x):
        return self.act(self.fc(x))

net = Net()
net(torch.ones(3, 4))
"""

CASES = [
    Case(
        "KeyError",
        BEGIN + "x = torch.ones(3)\nd = {}\nd['missing']",
        "error of Python",
        ("Python raised KeyError on line 4 (d['missing']): 'missing'", "The error does not come from PyTorch"),
        "",
    ),
    Case(
        "AttributeError of a module",
        NET,
        "error of Python",
        ("Python raised AttributeError on line 9 (return self.act(self.fc(x)))", "no attribute 'act'"),
        "Set self.act in Net: its methods set fc",
        NET.replace("self.act(self.fc(x))", "self.fc(x)"),
    ),
    Case(
        "a name that is nearly right",
        NET.replace("self.act(self.fc(x))", "self.fcc(x)"),
        "error of Python",
        ("no attribute 'fcc'",),
        "Did you mean fc, which Net sets?",
        NET.replace("self.act(self.fc(x))", "self.fc(x)"),
    ),
    Case(
        "ZeroDivisionError",
        BEGIN + "def scale(x, k):\n    return x / k\nprint(scale(3, 0))",
        "error of Python",
        ("Python raised ZeroDivisionError on line 3 (return x / k): division by zero",),
        "",
    ),
    Case(
        "an assertion",
        BEGIN + "x = torch.ones(3)\nassert x.sum() == 4, 'wrong sum'",
        "error of Python",
        ("The program raised AssertionError on line 3", "wrong sum"),
        "",
    ),
    Case(
        "a list that is too short",
        BEGIN + "xs = [torch.ones(2)]\ny = xs[1] * 2",
        "error of Python",
        ("Python raised IndexError on line 3 (y = xs[1] * 2): list index out of range",),
        "",
    ),
    Case(
        "an error of the program's own",
        BEGIN + "class TooFew(Exception):\n    pass\nraise TooFew('two')",
        "error of Python",
        ("The program raised TooFew on line 4", "two"),
        "",
    ),
    Case(
        "a number instead of a tensor",
        BEGIN + "y = torch.sum(3)",
        "signature: type of an argument",
        ("sum on line 2 (y = torch.sum(3)) takes a Tensor as input, but gets an int",),
        "torch.tensor(...)",
        BEGIN + "y = torch.sum(torch.tensor(3))",
    ),
    Case(
        "a list instead of a tensor",
        BEGIN + "y = torch.relu([1.0, -1.0])",
        "signature: type of an argument",
        ("relu on line 2", "takes a Tensor as input, but gets a list"),
        "torch.tensor(...)",
        BEGIN + "y = torch.relu(torch.tensor([1.0, -1.0]))",
    ),
    Case(
        "a tensor instead of numbers",
        BEGIN + "xs = torch.ones(2)\ny = torch.cat(xs)",
        "signature: type of an argument",
        ("cat on line 3", "as tensors, but gets a Tensor"),
        "Pass a tuple of Tensors as tensors",
        BEGIN + "xs = torch.ones(2)\ny = torch.cat([xs])",
    ),
    Case(
        "an unknown keyword",
        BEGIN + "x = torch.zeros(3)\ny = x.sum(foo=1)",
        "signature: no signature fits",
        ("sum on line 3 (y = x.sum(foo=1)) gets (foo=int), which fits none of its two signatures",),
        "Pass (*, torch.dtype dtype = None)",
        BEGIN + "x = torch.zeros(3)\ny = x.sum()",
    ),
    Case(
        "a window that is too large",
        BEGIN + "k = torch.kthvalue(torch.ones(3), 7)",
        "error of no known kind",
        ("kthvalue on line 2 (k = torch.kthvalue(torch.ones(3), 7)) raised RuntimeError",),
        "",
    ),
    Case(
        "a negative number of bins",
        BEGIN + "x = torch.ones(4)\nh = torch.histc(x, bins=-1)",
        "error of no known kind",
        ("histc on line 3",),
        "",
    ),
    Case(
        "text for sizes",
        BEGIN + "x = torch.zeros(2)\ny = x.view('flat', 2)",
        "signature: no signature fits",
        ("view on line 3",),
        "Pass (",
        BEGIN + "x = torch.zeros(2)\ny = x.view(2)",
    ),
    Case(
        "two dimensions to join along",
        BEGIN + "x = torch.ones(2)\ny = torch.cat([x, x], 0, 1)",
        "signature: number of arguments",
        ("cat on line 3",),
        "as a tuple",
        BEGIN + "x = torch.ones(2)\ny = torch.cat([x, x], 0)",
    ),
    Case(
        "dimensions of softmax",
        BEGIN + "x = torch.ones(2)\ny = torch.softmax(x, 0, 1, 2, 3)",
        "signature: number of arguments",
        ("softmax on line 3",),
        "by position",
        BEGIN + "x = torch.ones(2)\ny = torch.softmax(x, 0)",
    ),
    Case(
        "no known kind",
        BEGIN + "x = torch.ones(4)\ny = x.unfold(0, 5, 1)",
        "error of no known kind",
        ("unfold on line 3 (y = x.unfold(0, 5, 1)) raised RuntimeError. It got x [4] float32 on cpu",),
        "",
    ),
    Case(
        "a text for a dimension",
        "import torch\nx = torch.ones(2, 2)\ny = x.sum(dim='rows')",
        "signature: no signature fits",
        ("sum on line 3 (y = x.sum(dim='rows')) gets (dim=str)",),
        "Pass (",
        "import torch\nx = torch.ones(2, 2)\ny = x.sum(dim=0)",
    ),
    Case(
        "numbers for dimensions",
        "import torch\nx = torch.zeros(2, 3)\ny = torch.mean(x, 0, 1, 2)",
        "signature: number of arguments",
        ("mean on line 3 (y = torch.mean(x, 0, 1, 2)) takes from 2 to 3 arguments by position, but gets 4.",),
        "as a tuple",
        "import torch\nx = torch.zeros(2, 3)\ny = torch.mean(x, 0)",
    ),
]

ON_THE_MODEL = [
    Case(
        "what the model lacks",
        BEGIN + "x = torch.ones(3).to_sparse()",
        "not in the model",
        ("torch.Tensor.to_sparse",),
        "--engine torch",
    ),
    Case(
        "sparse tensors",
        "import torch\nx = torch.sparse_coo_tensor([[0], [1]], [1.0], (2, 2))",
        "not in the model",
        ("torch.sparse_coo_tensor",),
        "--engine torch",
    ),
    Case(
        "quantized tensors",
        "import torch\nx = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)",
        "not in the model",
        ("torch.quantize_per_tensor",),
        "--engine torch",
    ),
    Case(
        "a module that the model lacks",
        "import torch\nimport torch.ao.quantization",
        "not in the model",
        ("uses torch.ao, which the model",),
        "--engine torch",
    ),
    Case(
        "an operator without a kernel",
        "import torch\ntorch.ops.aten._sparse_mm(torch.ones(2, 2), torch.ones(2, 2))",
        "not in the model",
        ("uses the kernel of aten::_sparse_mm, which the model",),
        "--engine torch",
    ),
    Case(
        "a function that only raises",
        "import torch\ntorch.fx.symbolic_trace(torch.nn.ReLU())",
        "not in the model",
        ("uses a part of PyTorch (", "has no torch.fx"),
        "--engine torch",
    ),
    Case(
        "an error that another error hides",
        "import torch\ntry:\n    torch.sparse\nexcept AttributeError as error:\n    raise RuntimeError() from error",
        "not in the model",
        ("uses torch.sparse, which the model",),
        "--engine torch",
    ),
]
