"""Recording of programs that use ``torch.compile``.

The compiler gets the program's code as written, without the calls that notify the recorder. No cell is watched while it
compiles, so the calls that it makes are not recorded. Nor are those of a backward that compiled autograd runs. The
steps of the compiler are (``compiler_watch.py``).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

from dispatchviz.live.changed_modules import modules_changed
from dispatchviz.live.installed_torch import release

if TYPE_CHECKING:
    from dispatchviz.live.compiler_watch import CompilerWatch
    from dispatchviz.live.live_recorder import LiveRecorder

_BYTECODE, _FRAMES, _INLINED, _RULES, _GRAPHS, _BACKWARDS = (
    f"torch._dynamo.{name}"
    for name in (
        *("bytecode_transformation", "convert_frame", "symbolic_convert", "trace_rules", "output_graph"),
        "compiled_autograd",
    )
)
_AOT, _CACHE, _RUNTIME = (
    f"torch._functorch._aot_autograd.{name}" for name in ("graph_compile", "aot_autograd_result", "runtime_wrappers")
)
_PACKAGE = str(Path(__file__).parents[1]) + os.sep

Function = Callable[..., Any]
Replacement = tuple[str, Callable[[Function], Function]]
"""The path of a function in its module, and the function that makes its replacement."""
Apart = Callable[[], AbstractContextManager[None]]
"""A context manager inside which PyTorch's own functions are in place."""


@contextmanager
def compiler_unwatched(watch: LiveRecorder, apart: Apart) -> Iterator[Apart]:
    """Keep the compiler unwatched inside the block, also if its modules are imported there.

    Yield a context manager for other code that the compiler may run unwatched.
    """
    changes = _Changes(watch, apart)
    try:
        with modules_changed(changes.made, changes.change):
            yield changes.unwatched
    finally:
        changes.undo()


class _Changes:
    """The functions that are replaced inside the block."""

    def __init__(self, watch: LiveRecorder, apart: Apart) -> None:
        self._watch, self._apart = watch, apart
        self._written = cache(lambda code: code_as_written(code, watch))
        self._originals: list[tuple[Any, str, Function]] = []
        self.made: dict[str, tuple[Replacement, ...]] = {
            _BYTECODE: (("_cached_cleaned_instructions", self._as_written),),
            _INLINED: (("cleaned_instructions", self._as_written),),  # 2.6 has no function in between
            _FRAMES: (("_compile", self._quiet),),
            _RULES: (("check_file", self._without_us),),
        }
        if compiler_is_watched(watch.torch):
            self._add_steps(watch.compiler)

    def _add_steps(self, compiler: CompilerWatch) -> None:
        """Replace the functions that report the steps of the compiler."""
        self.made[_FRAMES] += (("get_and_maybe_log_recompilation_reasons", compiler.reporting),)
        self.made[_GRAPHS] = (
            ("OutputGraph.compile_subgraph", compiler.breaking),
            ("OutputGraph.call_user_compiler", compiler.capturing),
            ("OutputGraph.install_global_unsafe", compiler.installing),
        )
        self.made[_AOT] = (
            ("_partition_joint_graph_into_fw_bw", compiler.partitioning),
            ("aot_stage2_inference", compiler.inferring),
        )
        self.made[_RUNTIME] = (("track_graph_compiling", self._compiling_backward),)
        self.made[_CACHE] = (("GenericAOTAutogradResult.wrap_post_compile", compiler.restoring),)
        self.made[_BACKWARDS] = (
            ("AutogradCompilerInstance.begin_capture", compiler.backwards.capturing_backward),
            ("AutogradCompilerInstance.set_node_origin", compiler.backwards.applying),
            ("AutogradCompilerInstance.end_capture", compiler.backwards.ending),
        )

    def change(self, module: ModuleType) -> None:
        """Replace the functions of a module."""
        for path, made in self.made[module.__name__]:
            of, _, name = path.rpartition(".")
            owner = vars(module).get(of) if of else module
            original = None if owner is None else vars(owner).get(name)
            if original is not None:
                self._originals.append((owner, name, original))
                setattr(owner, name, made(original))

    def undo(self) -> None:
        """Restore all functions."""
        for owner, name, original in self._originals:
            setattr(owner, name, original)
        self._watch.compiler.take_out()

    def _as_written(self, original: Function) -> Function:
        def instructions(code: CodeType, *args: Any, **kwargs: Any) -> Any:
            return original(self._written(code), *args, **kwargs)

        return instructions

    @staticmethod
    def _without_us(original: Function) -> Function:
        def check_file(filename: str | None, *args: Any, **kwargs: Any) -> Any:
            """Treat this package's files as code that is not to be compiled: our kernels run in compiled regions."""
            result = original(filename, *args, **kwargs)
            if filename is None or not filename.startswith(_PACKAGE):
                return result
            return type(result)(True, "dispatchviz")

        return check_file

    def _quiet(self, original: Function) -> Function:
        def compiles(code: CodeType, *args: Any, **kwargs: Any) -> Any:
            if not compiler_is_watched(self._watch.torch):
                with self.unwatched():
                    return original(self._written(code), *args, **kwargs)
            compiler, of = self._watch.compiler, kwargs.get("compile_id")
            with self.unwatched(), compiler.compiles(code, of, bool(getattr(of, "frame_compile_id", 0))):
                result = original(self._written(code), *args, **kwargs)
                compiler.compiled(result)
                return result

        return compiles

    def _compiling_backward(self, original: Function) -> Function:
        @contextmanager
        def track_graph_compiling(*args: Any, **kwargs: Any) -> Iterator[None]:
            """Hide the compilation of a backward graph, which begins when it first runs."""
            with original(*args, **kwargs), self.unwatched(), self._watch.compiler.compiles_backward():
                yield

        return track_graph_compiling

    @contextmanager
    def unwatched(self) -> Iterator[None]:
        """Record nothing on this thread inside the block, and restore PyTorch's cells and functions."""
        thread = self._watch.thread
        before, thread.watched = thread.watched, False
        try:
            with self._apart(), self._watch.cells.out():
                yield
        finally:
            thread.watched = before


def compiler_is_watched(torch: Any) -> bool:
    """Return whether the steps of the compiler are recorded. Earlier releases name its functions otherwise."""
    return release(torch.__version__) >= STEPS_SINCE


STEPS_SINCE = (2, 13)
"""The first release whose compiler is watched."""


def code_as_written(code: CodeType, watch: LiveRecorder) -> CodeType:
    """Return the code of a function of a recorded file without the calls that notify the recorder; return other code
    unchanged.
    """
    text = watch.sources.get(watch.announced.get(code.co_filename, ""))
    if text is None:
        return code
    place = _place(code)
    found = [one for one in _inner(_compiled(text, code.co_filename)) if _place(one) == place]
    return found[0] if len(found) == 1 else code


@cache
def _compiled(text: str, file: str) -> CodeType:
    return compile(text, file, "exec", dont_inherit=True)


def _place(code: CodeType) -> tuple[object, ...]:
    arguments = code.co_argcount + code.co_kwonlyargcount
    return code.co_qualname, code.co_firstlineno, code.co_varnames[:arguments], code.co_freevars


def _inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _inner(constant)


def backwards_are_compiled() -> bool:
    """Return whether compiled autograd is on (``torch/_dynamo/compiled_autograd.py``)."""
    return bool(getattr(sys.modules.get("torch._dynamo.compiled_autograd"), "compiled_autograd_enabled", False))
