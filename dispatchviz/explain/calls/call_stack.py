"""The call stack at a step, in PyTorch's names, as a debugger would show it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.call_roles import YOURS, role_of
from dispatchviz.explain.calls.hook_frames import PYTHON_HOOK, hook_caller
from dispatchviz.explain.graph.compiled.compiled_names import region_title
from dispatchviz.explain.kinds.module import module_title
from dispatchviz.explain.locations.native_files import kernel_file, structured_file
from dispatchviz.explain.locations.pytorch_locations import ENGINE, apply_function, binding_file, entry_point
from dispatchviz.explain.trace_index.enclosing_steps import source_text, user_stack


@dataclass(frozen=True, slots=True)
class Frame:
    """A function on the stack."""

    title: str
    """``VariableType::add_Tensor``; for the program, the text of its line after its function."""
    file: str
    """PyTorch's file; for the program, file and line."""
    seq: int
    """The step that entered it, which a click on the frame opens."""
    role: str = field(default="", compare=False)
    """The role: ``your code``, ``binding``, ``autograd kernel``; empty if it has no name."""
    note: str = field(default="", compare=False)
    """The other work of the function, which has no frame of its own at this step."""
    library: str = field(default="", compare=False)
    """The library of a frame in a real process: ``libtorch_cpu.so``."""

    @property
    def written(self) -> str:
        """``generated`` or ``by hand``, for a function of PyTorch whose file is known; else empty.

        The file of a native function is the header that declares it, which is always generated.
        """
        if self.role == NATIVE:
            return f"{'generated' if GENERATED_NATIVE.fullmatch(self.title) else 'by hand'}, declared in"
        if self.file.startswith(GENERATED_FOLDERS):
            return "generated"
        return "by hand" if self.file.startswith(FOLDERS) else ""


GENERATED_FOLDERS = ("build/aten/", "torch/csrc/autograd/generated/")
"""The folders in which torchgen and the autograd generator write during a build."""

FOLDERS = ("aten/src/", "torch/csrc/", "c10/")
"""The folders in PyTorch's repository."""

NODES_OWN, CALLS_PYTHON = "Node", "calls Python"
"""The roles of a Node's own function, and of functions that call a hook."""

INTERPRETER = "Python"
"""The role of the interpreter's own functions, which a real process has on its stack."""

OTHER, UNNAMED = "not PyTorch's", "no name"
"""The roles of functions outside the interpreter and PyTorch, and of functions without a symbol."""

NATIVE = "native function"
"""The role of the function that a generated wrapper calls."""

GENERATED_NATIVE = re.compile(
    r"at::native::(?!split_|unbind_|narrow_|_to_)\w*_copy(?:_\w+)?_out(?:_symint)?"
    r"|at::native::(?:diag_embed_out|slice_scatter_out_symint)"
)
"""The native functions that torchgen writes, too (``CompositeViewCopyKernels.cpp``): out forms that ``autogen:``
requests, for the operators with an entry here.
"""


ENTERED = (
    ev.BindingEntered,
    ev.Dispatched,
    ev.KernelEntered,
    ev.MetaEntered,
    ev.ImplEntered,
    ev.ModuleCalled,
    ev.CompileStarted,
    ev.RegionCalled,
    ev.BackwardCompiled,
    ev.FunctionEntered,
    ev.ForwardFormulaEntered,
    ev.BackwardStarted,
    ev.NodeStarted,
)
"""The kinds of events that have frames."""


def call_stack(trace: Trace, seq: int) -> tuple[Frame, ...]:
    """The frames around step ``seq``, outermost first. A step that enters a function is its own last frame.

    The frames of the program are where they were entered: those of a hook are within the Node that runs it.
    """
    columns = trace.columns
    around = seq if isinstance(trace[seq], ENTERED) else columns.parents[seq]
    return _stack(trace, around, columns.lines[seq])


@lru_cache(maxsize=64)
def _stack(trace: Trace, around: int, line: int) -> tuple[Frame, ...]:
    """The frames at all steps directly within an event and on the same line of the program; -1 for no event, no
    line.
    """
    found = list(programs_frames(trace, line)) if line >= 0 else []
    for seq in (around, *trace.columns.ancestors(around))[::-1] if around >= 0 else ():
        is_node = line >= 0 and isinstance(trace[seq], ev.NodeStarted)
        found += frames_of(trace, trace[seq], line) if is_node else _with_roles(trace, seq)
    return tuple(sorted(found, key=lambda frame: frame.seq))


def programs_frames(trace: Trace, seq: int) -> Iterator[Frame]:
    """Yield the frames of the program, outermost first."""
    return (_program(trace, line) for line in user_stack(trace, seq))


def frames_of(trace: Trace, event: ev.AnyEvent, seq: int) -> Iterator[Frame]:
    """Yield the frames of an event around a step within it, with roles; guards, lines and facts have none."""
    hook = hook_caller(trace, event, seq) if isinstance(event, ev.NodeStarted) else None
    for frame in _with_roles(trace, event.seq):
        if hook is None or hook.in_apply or frame.role != NODES_OWN:
            yield frame
    if hook is not None:
        yield Frame(hook.function, PYTHON_HOOK, event.seq, CALLS_PYTHON)


@lru_cache(maxsize=64)
def _with_roles(trace: Trace, seq: int) -> tuple[Frame, ...]:
    """The frames around any step within an event."""
    event = trace[seq]
    return tuple(replace(frame, role=frame.role or role_of(trace, event)) for frame in _frames(trace, event))


def _program(trace: Trace, line: ev.SourceLine) -> Frame:
    text = source_text(trace, line) or f"line {line.line}"
    return Frame(f"{line.function}: {text}" if line.function else text, f"{line.file}:{line.line}", line.seq, YOURS)


def _frames(trace: Trace, event: ev.AnyEvent) -> Iterator[Frame]:
    """Yield the frames of an event; guards, lines and facts have none."""
    match event:
        case ev.BindingEntered():
            yield Frame(event.pytorch_function or event.function, binding_file(event), event.seq)
        case ev.Dispatched():
            yield Frame(*entry_point(event), event.seq)
        case ev.KernelEntered():
            yield Frame(event.kernel, kernel_file(event.kernel, event.pytorch_file), event.seq)
        case ev.MetaEntered() | ev.ImplEntered():
            yield Frame(event.function, structured_file(event.function), event.seq)
        case ev.ModuleCalled():
            yield Frame(module_title(trace, event), "torch/nn/modules/module.py", event.seq)
        case ev.CompileStarted():
            yield Frame("torch._dynamo.convert_frame._compile", "torch/_dynamo/convert_frame.py", event.seq)
        case ev.RegionCalled():
            yield Frame(f"compiled {region_title(event.region)}", "torch/_dynamo/output_graph.py", event.seq)
        case ev.BackwardCompiled():
            yield Frame("torch::autograd::Engine::execute", ENGINE, event.seq)
        case ev.FunctionEntered():
            yield Frame("THPFunction_apply", "torch/csrc/autograd/python_function.cpp", event.seq)
            yield Frame(f"{event.function}.forward", f"{event.file}:{event.line}", event.seq)
        case ev.ForwardFormulaEntered():
            yield Frame(f"forward formula: {event.formula}", "tools/autograd/derivatives.yaml", event.seq)
        case ev.BackwardStarted():
            yield Frame("torch::autograd::Engine::execute", ENGINE, event.seq)
        case ev.NodeStarted():
            yield Frame("torch::autograd::Engine::evaluate_function", ENGINE, event.seq)
            yield Frame(*apply_function(event.name), event.seq, NODES_OWN)
        case _:
            return
