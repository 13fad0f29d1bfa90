"""Programs with custom Functions and hooks that return invalid values."""

from __future__ import annotations

from tests.explain.diagnosis.cases import Case

CLIP = """
import torch

class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lo):
        ctx.save_for_backward(x)
        ctx.lo = lo
        return x.clamp(min=lo)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x > ctx.lo)

x = torch.ones(3, requires_grad=True)
Clip.apply(x, 0.0).sum().backward()
"""

MUL = """
import torch

class Mul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        {end}

x = torch.ones(3, requires_grad=True)
y = torch.ones(3, requires_grad=True)
z = Mul.apply(x, y).sum()
z.backward()
"""

GOOD = MUL.format(end="return g * b, g * a")

SHIFTED = """
import torch

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, factor, x):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, g):
        return None, g.sum() * {factor}

x = torch.ones(3, requires_grad=True)
Scale.apply(2.0, x).sum().backward()
"""

ONE = """
import torch

class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        g * 2

x = torch.ones(3, requires_grad=True)
z = Twice.apply(x).sum()
"""

X = "import torch\nx = torch.ones(3, requires_grad=True)\ny = x * 2\n"

CASES = [
    Case(
        "one gradient for two inputs",
        CLIP,
        "Function: number of gradients",
        (
            "Clip.backward returns one gradient on line 13 (return g * (x > ctx.lo))",
            "Clip.forward has two inputs, x and lo: autograd needs two values",
        ),
        "Return None for lo on line 13: return g * (x > ctx.lo), None",
        CLIP.replace("(x > ctx.lo)", "(x > ctx.lo), None"),
    ),
    Case(
        "one gradient for two that need one",
        MUL.format(end="return g * b"),
        "Function: number of gradients",
        ("Mul.backward returns one gradient on line 12 (return g * b), but Mul.forward has two inputs, a and b",),
        "Return two values on line 12: add the one for b",
        GOOD,
    ),
    Case(
        "four gradients for two inputs",
        MUL.format(end="return g * b, g * a, None, g"),
        "Function: number of gradients",
        ("Mul.backward returns four gradients on line 12",),
        "Return only two values on line 12, for a and b",
        GOOD,
    ),
    Case(
        "no return",
        MUL.format(end="g * b, g * a"),
        "Function: number of gradients",
        ("Mul.backward ends after line 12 (g * b, g * a) without a return, so it returns None",),
        "Return the gradients after line 12: the one for a and the one for b",
        GOOD,
    ),
    Case(
        "a part of a gradient",
        MUL.format(end="return (g * b)[:2], g * a"),
        "Function: sizes of a gradient",
        ("Mul.backward returns a gradient with sizes [2] for a on line 12", "but a has sizes [3]"),
        "Return a gradient with sizes [3] for a on line 12",
        GOOD,
    ),
    Case(
        "sizes of the second gradient",
        MUL.format(end="return g * b, torch.ones(2, 2)"),
        "Function: sizes of a gradient",
        ("a gradient with sizes [2, 2] for b on line 12", "but b has sizes [3]"),
        "Return a gradient with sizes [3] for b",
        GOOD,
    ),
    Case(
        "sizes where the first input is no tensor",
        SHIFTED.replace("g.sum() * {factor}", "torch.ones(4)"),
        "Function: sizes of a gradient",
        ("Scale.backward returns a gradient with sizes [4] for its ",),
        "Return a gradient with sizes [3]",
        SHIFTED.replace("g.sum() * {factor}", "g * ctx.factor"),
    ),
    Case(
        "a number",
        MUL.format(end="return g * b, 1.0"),
        "Function: type of a gradient",
        ("Mul.backward returns a float as its second value on line 12 (return g * b, 1.0)",),
        "Return a tensor on line 12",
        GOOD,
    ),
    Case(
        "a string",
        MUL.format(end="return 'a', None"),
        "Function: type of a gradient",
        ("Mul.backward returns a str as its first value on line 12",),
        "Return a tensor on line 12",
        fixed=("return 'a', None", "return g * b, g * a"),
    ),
    Case(
        "a list",
        MUL.format(end="return [g], g * a"),
        "Function: type of a gradient",
        ("Mul.backward returns a list on line 12",),
        "Return a tensor on line 12",
        GOOD,
    ),
    Case(
        "a number in save_for_backward",
        CLIP.replace("save_for_backward(x)", "save_for_backward(x, lo)"),
        "Function: save_for_backward",
        ("Clip.forward passes lo, a float, to ctx.save_for_backward on line 6",),
        "Keep lo as an attribute of ctx: ctx.lo = lo",
        CLIP.replace("(x > ctx.lo)", "(x > ctx.lo), None"),
    ),
    Case(
        "a list in save_for_backward",
        MUL.format(end="return g, g").replace("save_for_backward(a, b)", "save_for_backward([a, b])"),
        "Function: save_for_backward",
        ("Mul.forward passes [a, b], a list, to ctx.save_for_backward on line 6",),
        "Keep [a, b] as an attribute of ctx",
        MUL.format(end="return g, g").replace("a, b = ctx.saved_tensors", "ctx.saved_tensors"),
    ),
    Case(
        "sizes in save_for_backward",
        MUL.format(end="return g, g").replace("save_for_backward(a, b)", "save_for_backward(a, b, a.shape[0])"),
        "Function: save_for_backward",
        ("Mul.forward passes a.shape[0], an int, to ctx.save_for_backward",),
        "Keep a.shape[0] as an attribute",
        fixed=("(a, b, a.shape[0])", "(a, b)\n        ctx.size = a.shape[0]"),
    ),
    Case(
        "no backward",
        "import torch\nclass F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
        "        return x * 2\n"
        "x = torch.ones(3, requires_grad=True)\nF.apply(x).sum().backward()",
        "Function: no backward",
        ("The backward pass of line 7 (F.apply(x).sum().backward()) reached FBackward", "F defines no backward"),
        "Define a static method backward(ctx, grad) in F",
        fixed=("x * 2\n", "x * 2\n    @staticmethod\n    def backward(ctx, g):\n        return g * 2\n"),
    ),
    Case(
        "no return for one input",
        ONE + "print(torch.autograd.grad(z, x))",
        "Function: backward returns None",
        ("Twice.backward ends after line 10 (g * 2) without a return, so it returns None: no gradient",),
        "Return the gradient after line 10",
        ONE.replace("        g * 2", "        return g * 2") + "print(torch.autograd.grad(z, x))",
    ),
    Case(
        "no return for one input, in a backward pass",
        ONE + "z.backward()",
        "Function: backward has no return",
        ("Twice.backward (line 9) returns no value, which autograd treats as None: no gradient flows on",),
        "Return one gradient for each input of forward",
        ONE.replace("        g * 2", "        return g * 2") + "z.backward()",
    ),
    Case(
        "called as an object",
        CLIP.replace("Clip.apply(x, 0.0).sum().backward()", "y = Clip()(x, 0.0)"),
        "Function: called as an object",
        ("Line 16 (y = Clip()(x, 0.0)) calls an object of Clip",),
        "Clip.apply(x)",
        fixed=("Clip()(x, 0.0)", "Clip.apply(x, 0.0)"),
    ),
    Case(
        "a part of the gradient",
        X + "y.register_hook(lambda g: g[:2])\ny.sum().backward()",
        "hook: sizes of a gradient",
        (
            (
                "A hook of y, registered on line 4 (y.register_hook(lambda g: g[:2])), returns a gradient whose sizes "
                "differ"
            ),
        ),
        "Return a gradient with the sizes",
        X + "y.register_hook(lambda g: g * 2)\ny.sum().backward()",
    ),
    Case(
        "a named hook of a leaf",
        "import torch\ndef shrink(g):\n    return g.sum()\nx = torch.ones(3, requires_grad=True)\n"
        "x.register_hook(shrink)\n(x * 2).sum().backward()",
        "hook: sizes of a gradient",
        ("The hook shrink of x, registered on line 5 (x.register_hook(shrink)), returns",),
        "Return a gradient with the sizes",
        fixed=("g.sum()", "g * 2"),
    ),
    Case(
        "several hooks",
        X + "y.register_hook(lambda g: g)\nx.register_hook(lambda g: g.sum())\ny.sum().backward()",
        "hook: sizes of a gradient",
        ("A hook returns a gradient whose sizes differ",),
        "Return a gradient with the sizes",
        fixed=("g: g.sum()", "g: g * 2"),
    ),
    Case(
        "a hook that returns a number",
        X + "y.register_hook(lambda g: 1.0)\ny.sum().backward()",
        "hook: type of a gradient",
        ("A hook of y, registered on line 4 (y.register_hook(lambda g: 1.0)), returns a float",),
        "Return a tensor",
        X + "y.register_hook(lambda g: torch.full_like(g, 1.0))\ny.sum().backward()",
    ),
    Case(
        "a hook that returns a list",
        X + "def wrap(g):\n    return [g]\nx.register_hook(wrap)\ny.sum().backward()",
        "hook: type of a gradient",
        ("The hook wrap of x, registered on line 6 (x.register_hook(wrap)), returns a list",),
        "Return a tensor",
        X + "def wrap(g):\n    return g\nx.register_hook(wrap)\ny.sum().backward()",
    ),
    Case(
        "what a dictionary method returns",
        X + "kept = {}\nx.register_hook(lambda g: kept.setdefault('g', 'no'))\ny.sum().backward()",
        "hook: type of a gradient",
        ("A hook of x, registered on line 5", "returns a str"),
        "or None to leave it",
        X + "kept = {}\nx.register_hook(lambda g: kept.update(g=g))\ny.sum().backward()",
    ),
    Case(
        "float64",
        X + "y.register_hook(lambda g: g.double())\ny.sum().backward()",
        "hook: dtype of a gradient",
        ("A hook of y, registered on line 4", "it gets a torch.FloatTensor and returns a torch.DoubleTensor"),
        ".to(grad.dtype)",
        X + "y.register_hook(lambda g: g.double().to(g.dtype))\ny.sum().backward()",
    ),
    Case(
        "half precision",
        X + "def scale(g):\n    return g.half() / 8\ny.register_hook(scale)\ny.sum().backward()",
        "hook: dtype of a gradient",
        ("The hook scale of y, registered on line 6", "gets a torch.FloatTensor and returns a torch.HalfTensor"),
        ".to(grad.dtype)",
        fixed=("g.half() / 8", "(g.half() / 8).to(g.dtype)"),
    ),
    Case(
        "a count",
        X + "x.register_hook(lambda g: (g > 0).long())\ny.sum().backward()",
        "hook: dtype of a gradient",
        ("A hook of x, registered on line 4", "returns a torch.LongTensor"),
        ".to(grad.dtype)",
        fixed=(".long()", ".to(g.dtype)"),
    ),
    Case(
        "a hook of a Node",
        X + "y.grad_fn.register_hook(lambda gi, go: (gi[0],))\ny.sum().backward()",
        "hook: number of gradients",
        ("A hook of MulBackward0, registered on line 4", "returns one gradient, but the Node has two gradients"),
        "Return a tuple of two gradients",
        X + "y.grad_fn.register_hook(lambda gi, go: (gi[0], None))\ny.sum().backward()",
    ),
    Case(
        "a prehook of a Node",
        X + "def twice(go):\n    return go[0], go[0]\ny.grad_fn.register_prehook(twice)\ny.sum().backward()",
        "hook: number of gradients",
        (
            "The hook twice of MulBackward0, registered on line 6",
            "returns two gradients, but the Node has one gradient",
        ),
        "Return a tuple of one gradient",
        fixed=("return go[0], go[0]", "return (go[0] * 2,)"),
    ),
    Case(
        "a hook of a module",
        "import torch\nm = torch.nn.Linear(2, 2)\nm.register_full_backward_hook(lambda mod, gi, go: (gi[0], gi[0]))\n"
        "x = torch.ones(1, 2, requires_grad=True)\nm(x).sum().backward()",
        "hook: gradients of a module",
        ("A backward hook of a module, registered on line 3, returns two gradients, but grad_input",),
        "Return a tuple of one gradient",
        fixed=("(gi[0], gi[0])", "(gi[0],)"),
    ),
    Case(
        "no backward, of a mean",
        """
import torch

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

w = torch.ones(3, requires_grad=True)
loss = Square.apply(w).mean()
loss.backward()
""",
        "Function: no backward",
        (
            "The backward pass of line 11 (loss.backward()) reached SquareBackward",
            "but Square defines no backward",
        ),
        "backward(ctx, grad) in Square",
        """
import torch

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g

w = torch.ones(3, requires_grad=True)
loss = Square.apply(w).mean()
loss.backward()
""",
    ),
    Case(
        "a backward of another name",
        """
import torch

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backwards(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g

w = torch.ones(3, requires_grad=True)
y = Square.apply(w.exp())
g = torch.autograd.grad(y.sum(), w)
""",
        "Function: no backward",
        ("The backward pass of line 16 (g = torch.autograd.grad(y.sum(), w)) reached SquareBackward",),
        "backward(ctx, grad) in Square",
        """
import torch

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g

w = torch.ones(3, requires_grad=True)
y = Square.apply(w.exp())
g = torch.autograd.grad(y.sum(), w)
""",
    ),
    Case(
        "an object that is kept",
        """
import torch

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g

w = torch.ones(3, requires_grad=True)
square = Square()
y = square(w)
""",
        "Function: called as an object",
        ("Line 16 (y = square(w)) calls an object of Square",),
        "Square.apply(x) instead of Square()(x)",
        """
import torch

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g

w = torch.ones(3, requires_grad=True)
square = Square.apply
y = square(w)
""",
    ),
    Case(
        "an object in a module",
        """
import torch

class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2

class Net(torch.nn.Module):
    def forward(self, x):
        return Double()(x)

y = Net()(torch.ones(2))
""",
        "Function: called as an object",
        ("Line 14 (return Double()(x)) calls an object of Double",),
        "Double.apply(x)",
        fixed=("Double()(x)", "Double.apply(x)"),
    ),
    Case(
        "no return, behind another operator",
        """
import torch

class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        g * 2

x = torch.ones(3, requires_grad=True)
y = Twice.apply(x.exp())
g = torch.autograd.grad(y.sum(), x)
""",
        "Function: backward returns None",
        ("Twice.backward ends after line 10 (g * 2) without a return, so it returns None",),
        "Return the gradient after line 10",
        """
import torch

class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2

x = torch.ones(3, requires_grad=True)
y = Twice.apply(x.exp())
g = torch.autograd.grad(y.sum(), x)
""",
    ),
    Case(
        "a return without a value",
        """
import torch

class Log(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        print(g)
        return

w = torch.ones(3, requires_grad=True)
b = torch.ones(3, requires_grad=True)
g = torch.autograd.grad(Log.apply(w).sum(), w)
""",
        "Function: backward returns None",
        ("Log.backward returns None on line 11 (return): no gradient flows on from it",),
        "Return the gradient on line 11",
        """
import torch

class Log(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        print(g)
        return g

w = torch.ones(3, requires_grad=True)
b = torch.ones(3, requires_grad=True)
g = torch.autograd.grad(Log.apply(w).sum(), w)
""",
    ),
    Case(
        "a gradient that is kept",
        """
import torch

class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mask = x > 0
        return x * ctx.mask

    @staticmethod
    def backward(ctx, g):
        gradient = g * ctx.mask
        ctx.gradient = gradient

w = torch.ones(3, requires_grad=True)
(g,) = torch.autograd.grad(Gate.apply(w).sum(), [w])
""",
        "Function: backward returns None",
        ("Gate.backward ends after line 12 (ctx.gradient = gradient) without a return",),
        "Return the gradient after line 12",
        """
import torch

class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mask = x > 0
        return x * ctx.mask

    @staticmethod
    def backward(ctx, g):
        gradient = g * ctx.mask
        return gradient

w = torch.ones(3, requires_grad=True)
(g,) = torch.autograd.grad(Gate.apply(w).sum(), [w])
""",
    ),
    Case(
        "a return without a value, in a backward pass",
        """
import torch

class Log(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        print(g)
        return

w = torch.ones(3, requires_grad=True)
b = torch.ones(3, requires_grad=True)
loss = (Log.apply(w) * b).sum()
loss.backward()
""",
        "Function: backward has no return",
        ("Log.backward (line 9) returns no value",),
        "at the end of Log.backward",
        """
import torch

class Log(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        print(g)
        return g

w = torch.ones(3, requires_grad=True)
b = torch.ones(3, requires_grad=True)
loss = (Log.apply(w) * b).sum()
loss.backward()
""",
    ),
    Case(
        "a gradient that is computed and lost",
        """
import torch

class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mask = x > 0
        return x * ctx.mask

    @staticmethod
    def backward(ctx, g):
        gradient = g * ctx.mask
        gradient.sum()

w = torch.ones(3, requires_grad=True)
Gate.apply(w.exp()).sum().backward()
""",
        "Function: backward has no return",
        (
            "Gate.backward (line 10) returns no value",
            "from GateBackward",
        ),
        "at the end of Gate.backward",
        """
import torch

class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mask = x > 0
        return x * ctx.mask

    @staticmethod
    def backward(ctx, g):
        gradient = g * ctx.mask
        return gradient

w = torch.ones(3, requires_grad=True)
Gate.apply(w.exp()).sum().backward()
""",
    ),
    Case(
        "a pre-hook of a module",
        "import torch\nm = torch.nn.Linear(2, 2)\nx = torch.ones(1, 2, requires_grad=True)\n"
        "m.register_full_backward_pre_hook(lambda mod, go: (go[0], go[0]))\nm(x).sum().backward()",
        "hook: gradients of a module",
        ("A backward pre-hook of a module, registered on line 4, returns two gradients",),
        "Return a tuple of one gradient",
        "import torch\nm = torch.nn.Linear(2, 2)\nx = torch.ones(1, 2, requires_grad=True)\n"
        "m.register_full_backward_pre_hook(lambda mod, go: (go[0],))\nm(x).sum().backward()",
    ),
    Case(
        "a hook that returns too many",
        "import torch\nm = torch.nn.Linear(2, 2)\nx = torch.ones(1, 2, requires_grad=True)\n"
        "def clip(module, grad_input, grad_output):\n"
        "    return tuple(g.clamp(-1, 1) for g in grad_input + grad_output)\n"
        "m.register_full_backward_hook(clip)\nm(x).sum().backward()",
        "hook: gradients of a module",
        ("A backward hook of a module, registered on line 6, returns two gradients",),
        "Return a tuple of one gradient",
        "import torch\nm = torch.nn.Linear(2, 2)\nx = torch.ones(1, 2, requires_grad=True)\n"
        "def clip(module, grad_input, grad_output):\n    return tuple(g.clamp(-1, 1) for g in grad_input)\n"
        "m.register_full_backward_hook(clip)\nm(x).sum().backward()",
    ),
    Case(
        "a hook of a module with two inputs",
        """
import torch

class Add(torch.nn.Module):
    def forward(self, a, b):
        return a + b

a = torch.ones(2, requires_grad=True)
b = torch.ones(2, requires_grad=True)
add = Add()
add.register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0],))
add(a, b).sum().backward()
""",
        "hook: gradients of a module",
        ("registered on line 10, returns one gradient, but grad_input, which it may replace, has two gradients",),
        "Return a tuple of two gradients",
        fixed=("(grad_input[0],)", "(grad_input[0], None)"),
    ),
    Case(
        "a hook of a Node with one input",
        "import torch\nx = torch.ones(3, requires_grad=True)\ny = x.exp()\n"
        "y.grad_fn.register_hook(lambda gi, go: (gi[0], go[0]))\ny.sum().backward()",
        "hook: number of gradients",
        (
            "A hook of ExpBackward0, registered on line 4",
            "returns two gradients, but the Node has one gradient",
        ),
        "Return a tuple of one gradient",
        "import torch\nx = torch.ones(3, requires_grad=True)\ny = x.exp()\n"
        "y.grad_fn.register_hook(lambda gi, go: (gi[0],))\ny.sum().backward()",
    ),
]
