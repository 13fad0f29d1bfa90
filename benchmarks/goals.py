"""The figures that people feel, and the goal for each: the rows of the table that ``python -m benchmarks`` prints."""

from __future__ import annotations

from typing import NamedTuple


class Goal(NamedTuple):
    """A figure of a benchmark, and what it should be at most."""

    action: str
    """The action of a person."""
    benchmark: str
    """The module that measures it."""
    result: str
    """The name of the figure there."""
    most: float


GOALS = (
    Goal("run a script", "tui", "first paint of a run / (empty app + the program)", 1.15),
    Goal("run a script", "start", "run examples/forum.py, of an empty Textual app", 2.3),
    Goal("open a trace", "opening", "first screen, of a trace of 1,000 steps", 1.05),
    Goal("step", "tui", "a step, processor, median, ms", 12),
    Goal("step", "tui", "a step, processor, nine of ten within, ms", 20),
    Goal("step", "tui", "any key, search, filter or breakpoint, processor, ms", 50),
    Goal("share a page", "pages", "examples/forum.py, s", 1),
    Goal("share a page", "pages", "10,000 steps, s", 3),
    Goal("share a page", "pages", "100,000 steps, s", 12),
    Goal("share a page", "player", "training loop, step, ms", 16),
    Goal("draw a graph", "pictures", "chain of 1,000, folded, s", 0.4),
    Goal("draw a graph", "pictures", "transformer of 4,232 Nodes, whole, s", 4),
    Goal("draw a graph", "pictures", "transformer of 50,000 Nodes, folded, s", 1.5),
    Goal("train on the model", "engine", "50 operators, of HIPS autograd", 0.8),
    Goal("train on the model", "loops", "polynomial by hand, of PyTorch", 3),
    Goal("train on the model", "loops", "polynomial with autograd, of PyTorch", 3),
    Goal("train on the model", "loops", "polynomial with nn and an optimizer, of PyTorch", 3),
    Goal("add with gradients", "dispatch", "add, of HIPS autograd", 0.7),
    Goal("add with gradients", "dispatch", "add of which one operand requires grad, of HIPS autograd", 0.85),
    Goal("add with gradients", "dispatch", "add of a leaf not in use, of HIPS autograd", 1.0),
    Goal("record on the model", "dispatch", "recorded add, of PyTorch under DebugMode", 0.2),
    Goal("record on the model", "engine", "50 operators recorded, of PyTorch under DebugMode", 0.3),
    Goal("record on the model", "engine", "50 operators recorded, events made, of PyTorch under DebugMode", 0.5),
    Goal("record PyTorch", "live", "1,000 additions, of DebugMode", 0.35),
    Goal("record PyTorch", "live", "step of a CNN, of DebugMode", 0.6),
    Goal("record PyTorch", "live", "step of a transformer, of DebugMode", 0.6),
    Goal("record PyTorch", "live", "entering, s", 0.2),
    Goal("record PyTorch", "live", "1,000 additions, events made, of DebugMode", 1.0),
    Goal("keep a trace", "saving", "bytes per event of the training .dvtrace", 16),
    Goal("keep a trace", "saving", "training .dvtrace", 1.5),
    Goal("keep a trace", "keeping", "recording with --save, of --no-trace", 2),
    Goal("read a log", "log", "us per line of the training log", 2.5),
    Goal("check a program", "commands", "check, of both runs", 1.2),
    Goal("type a command", "start", "--help, of bare Python", 1.5),
    Goal("type a command", "start", "why linear PrivateUse1, of import numpy", 0.6),
    Goal("type a command", "start", "codegen add, of import numpy", 1),
    Goal("type a command", "start", "doctor, of import numpy", 2),
    Goal("type a command", "start", "import dispatchviz.torch, of import numpy", 1.3),
    Goal("test with the fixture", "fixture", "a test of three operators, of one without it", 1.3),
)
