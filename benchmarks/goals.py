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
    why_missed: str = ""
    """The floor, which is the figure with nothing of ours or with the least, and what takes the rest; empty if met."""


GOALS = (
    Goal(
        "run a script",
        "tui",
        "first paint of a run / (empty app + the program)",
        1.15,
        "floor 1. The rest, 90 ms, is the modules of the first screen",
    ),
    Goal(
        "run a script",
        "start",
        "run examples/forum.py, of an empty Textual app",
        2.3,
        "floor 2.4: an empty app, and the program on the model. The rest is the modules of the first screen",
    ),
    Goal(
        "open a trace",
        "opening",
        "first screen, of a trace of 1,000 steps",
        1.05,
        "floor 1.3: the long trace needs NumPy. Columns take 80 ms, the outline 90 ms",
    ),
    Goal("step", "tui", "a step, processor, median, ms", 12),
    Goal("step", "tui", "a step, processor, nine of ten within, ms", 20),
    Goal(
        "step",
        "tui",
        "any key, search, filter or breakpoint, processor, ms",
        50,
        "floor 2: a key of an empty app. This is the longest of 1,800 steps; 40 other keys stay below 33 ms",
    ),
    Goal(
        "share a page",
        "pages",
        "examples/forum.py, s",
        1,
        "floor 0.4: the libraries, and the program on the model. Our modules take about 0.3 s, the rest is 335 steps",
    ),
    Goal(
        "share a page",
        "pages",
        "10,000 steps, s",
        3,
        "floor 0.4: start, reading, JSON, gzip. 2,350 whole steps take 2 ms each; no function takes more than 3 %",
    ),
    Goal(
        "share a page",
        "pages",
        "100,000 steps, s",
        12,
        "floor 1.1: the same. Each further step takes 0.16 ms: sentence, place, row of the tree, titles",
    ),
    Goal("share a page", "player", "training loop, step, ms", 16),
    Goal("draw a graph", "pictures", "chain of 1,000, folded, s", 0.4),
    Goal("draw a graph", "pictures", "transformer of 4,232 Nodes, whole, s", 4),
    Goal("draw a graph", "pictures", "transformer of 50,000 Nodes, folded, s", 1.5),
    Goal("train on the model", "engine", "50 operators, of HIPS autograd", 0.8),
    Goal(
        "train on the model",
        "loops",
        "polynomial by hand, of PyTorch",
        3,
        "the smallest call takes 4.4: binding, dispatcher, autograd kernel, kernel: 5.6 us in Python, 1.26 in C++",
    ),
    Goal(
        "train on the model",
        "loops",
        "polynomial with autograd, of PyTorch",
        3,
        "the smallest call takes 4.4, as above",
    ),
    Goal(
        "train on the model",
        "loops",
        "polynomial with nn and an optimizer, of PyTorch",
        3,
        "the smallest call takes 4.4, as above",
    ),
    Goal("add with gradients", "dispatch", "add, of HIPS autograd", 0.7),
    Goal("add with gradients", "dispatch", "add of which one operand requires grad, of HIPS autograd", 0.85),
    Goal("add with gradients", "dispatch", "add of a leaf not in use, of HIPS autograd", 1.0),
    Goal("record on the model", "dispatch", "recorded add, of PyTorch under DebugMode", 0.2),
    Goal(
        "record on the model",
        "engine",
        "50 operators recorded, of PyTorch under DebugMode",
        0.3,
        "floor 0.13: nothing recorded. Facts for 56 events take 21 us, 0.4 us each",
    ),
    Goal(
        "record on the model",
        "engine",
        "50 operators recorded, events made, of PyTorch under DebugMode",
        0.5,
        "floor 0.47: recorded, and 56 bare objects. Their facts take 0.5 us each",
    ),
    Goal(
        "record PyTorch", "live", "1,000 additions, of DebugMode", 0.35, "floor 0.17: our kernels that record nothing"
    ),
    Goal("record PyTorch", "live", "step of a CNN, of DebugMode", 0.6, "floor 0.51: our kernels that record nothing"),
    Goal(
        "record PyTorch",
        "live",
        "step of a transformer, of DebugMode",
        0.6,
        "floor 0.42: our kernels that record nothing",
    ),
    Goal("record PyTorch", "live", "entering, s", 0.2, "floor 0.16: PyTorch's own registration of 9,000 kernels"),
    Goal(
        "record PyTorch",
        "live",
        "1,000 additions, events made, of DebugMode",
        1.0,
        "floor 0.73: recorded without events",
    ),
    Goal("keep a trace", "saving", "bytes per event of the training .dvtrace", 16),
    Goal(
        "keep a trace",
        "saving",
        "training .dvtrace",
        1.5,
        "floor 1.75: JSON and Zstandard alone. Columns, nesting and groups take the rest",
    ),
    Goal(
        "keep a trace",
        "keeping",
        "recording with --save, of --no-trace",
        2,
        "floor 2.2: facts thrown away. The rest makes, encodes and packs the events",
    ),
    Goal(
        "read a log",
        "log",
        "us per line of the training log",
        2.5,
        "floor 0.75 to 1.1: a format per line. The rest is the line's names and reasons",
    ),
    Goal("check a program", "commands", "check, of both runs", 1.2),
    Goal("type a command", "start", "--help, of bare Python", 1.5),
    Goal("type a command", "start", "why linear PrivateUse1, of import numpy", 0.6),
    Goal("type a command", "start", "codegen add, of import numpy", 1),
    Goal("type a command", "start", "doctor, of import numpy", 2),
    Goal(
        "type a command",
        "start",
        "import dispatchviz.torch, of import numpy",
        1.3,
        "floor 1.2: NumPy and msgspec alone. 266 modules of ours take 0.25 to 0.4 ms each",
    ),
    Goal(
        "test with the fixture",
        "fixture",
        "a test of three operators, of one without it",
        1.3,
        "floor 1.45: an empty fixture of pytest. Facts for 131 events take 0.5 ms",
    ),
)
