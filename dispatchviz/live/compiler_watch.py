"""The steps of ``torch.compile``, observed where the compiler's own functions are called.

Nothing is read that would change what is compiled: a graph is read after PyTorch has made it, and the functions that
are replaced get and return the same objects. Only a compiled region is called through a function of ours, until the
recording ends.

Not here: which functions are replaced, and when (``compiled_regions.py``), the lines of a graph (``graph_lines.py``),
compiled autograd (``captured_backwards.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from types import CodeType
from typing import TYPE_CHECKING, Any

from dispatchviz.core.record import events as ev
from dispatchviz.core.seam import recorder
from dispatchviz.live.cached_graphs import CachedGraphs, saved_values
from dispatchviz.live.captured_backwards import CapturedBackwards
from dispatchviz.live.graph_lines import GraphReader
from dispatchviz.running.call_sites import is_users_file, shown_file

if TYPE_CHECKING:
    from dispatchviz.live.live_recorder import LiveRecorder

Function = Callable[..., Any]

COMPILED_NODE = "CompiledFunctionBackward"
"""The Node of a region with a backward (``torch/_functorch/_aot_autograd/runtime_wrappers.py``)."""


_REGION = "__compiled_fn"
"""The beginning of the name of the global that holds a compiled region (``torch/_dynamo/output_graph.py``)."""


class CompilerWatch:
    """The recorder of the compiler."""

    def __init__(self, watch: LiveRecorder) -> None:
        self._watch = watch
        self._reader = GraphReader(watch.torch, self._shown)
        self._cache = CachedGraphs(watch.torch, self._shown)
        self._traced = False
        """True if AOTAutograd has traced the newest region, rather than found it in its cache."""
        self._regions = -1
        """The number of the newest region."""
        self._compiling = 0
        """The number of functions that are being compiled. One may be compiled while another is."""
        self._nodes: dict[int, str] = {}
        """The names of the Nodes that PyTorch made while it traced the newest region, by sequence number."""
        self._globals: list[tuple[dict[str, Any], str]] = []
        """Where our functions are in front of regions: the namespace and the name."""
        self.backwards = CapturedBackwards(watch, self._reader)

    def _shown(self, file: str) -> str:
        return self._watch.announced.get(file) or shown_file(file)

    def _emit(self, kind: Function, *fields: Any) -> None:
        if recorder.listening is self._watch:
            self._watch._emit(kind, *fields)

    # -- Dynamo -------------------------------------------------------------------------------------------------------

    @contextmanager
    def compiles(self, code: CodeType, compile_id: object, again: bool) -> Iterator[None]:
        """Record the compilation of a function inside the block. ``compiled`` records its result."""
        with self._compilation(lambda: self._compile_begins(code, str(compile_id), again)):
            yield

    @contextmanager
    def compiles_backward(self) -> Iterator[None]:
        """Record the compilation of a backward graph inside the block."""
        with self._compilation(lambda: self._watch._emit_span(ev.CompileStarted, "", "", "", 0, False)):
            yield
            self._emit(ev.CompileFinished, "compiled", "")

    @contextmanager
    def _compilation(self, begins: Callable[[], None]) -> Iterator[None]:
        watch = self._watch
        if recorder.listening is not watch:
            yield
            return
        watch.guarded(begins)
        self._compiling += 1
        try:
            yield
        except BaseException as error:
            text = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
            self._emit(ev.CompileFinished, "failed", text)
            raise
        finally:
            self._compiling -= 1
            if recorder.listening is watch:
                watch.leave()

    def _compile_begins(self, code: CodeType, compile_id: str, again: bool) -> None:
        watch = self._watch
        watch.line_calls(2)
        place = self._shown(code.co_filename), code.co_firstlineno
        watch._emit_span(ev.CompileStarted, compile_id, code.co_qualname, *place, again)

    def compiled(self, result: Any) -> None:
        """Record the result of a compilation: ``ConvertFrameReturn``."""
        made = getattr(result, "guarded_code", result) is not None
        self._emit(ev.CompileFinished, "compiled" if made else "not compiled", "")

    def reporting(self, original: Function) -> Function:
        """Return a replacement of ``get_and_maybe_log_recompilation_reasons``, which reports the guards that failed."""

        @wraps(original)
        def reasons(*args: Any, **kwargs: Any) -> Any:
            found = original(*args, **kwargs)
            if self._compiling:
                for one in found or ():
                    self._emit(ev.GuardFailed, str(one))
            return found

        return reasons

    def breaking(self, original: Function) -> Function:
        """Return a replacement of ``OutputGraph.compile_subgraph``, which ends a graph."""

        @wraps(original)
        def compile_subgraph(graph: Any, tx: Any, reason: Any, *args: Any, **kwargs: Any) -> Any:
            if self._compiling:
                self._watch.guarded(lambda: self._broken(reason))
            return original(graph, tx, reason, *args, **kwargs)

        return compile_subgraph

    def _broken(self, reason: Any) -> None:
        if not reason.graph_break:
            return
        places = [(one.filename, one.lineno) for one in reason.user_stack if is_users_file(one.filename)]
        file, line = places[-1] if places else ("", 0)
        self._emit(ev.GraphBroken, str(reason.reason).strip(), file and self._shown(file), line or 0)

    def capturing(self, original: Function) -> Function:
        """Return a replacement of ``OutputGraph.call_user_compiler``, which gives Dynamo's graph to the backend."""

        @wraps(original)
        def call_user_compiler(output: Any, graph: Any, *args: Any, **kwargs: Any) -> Any:
            if self._compiling and recorder.listening is self._watch:
                self._regions += 1
                self._nodes, self._traced = {}, False
                self._watch.guarded(lambda: self._captures("Dynamo", graph))
            return original(output, graph, *args, **kwargs)

        return call_user_compiler

    def _captures(self, stage: ev.GraphStage, graph: Any, saved: Sequence[str] = ()) -> None:
        self._traced = stage != "Dynamo"
        lines = self._reader.lines(graph.graph, self._nodes)
        self._emit(ev.GraphCaptured, self._regions, stage, lines, tuple(saved), False)

    # -- AOTAutograd --------------------------------------------------------------------------------------------------

    def partitioning(self, original: Function) -> Function:
        """Return a replacement of ``_partition_joint_graph_into_fw_bw``."""

        @wraps(original)
        def partition(joint: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._compiling:
                return original(joint, *args, **kwargs)
            watch = self._watch
            watch.guarded(lambda: self._captures("joint", joint))
            parts = original(joint, *args, **kwargs)
            watch.guarded(lambda: self._divided(*parts))
            return parts

        return partition

    def _divided(self, forward: Any, backward: Any, outputs: int) -> None:
        """Record the parts of a joint graph. The forward returns ``outputs`` results, then values for the backward."""
        self._captures("forward", forward, [str(one) for one in _returned(forward)[outputs:]])
        self._captures("backward", backward)

    def inferring(self, original: Function) -> Function:
        """Return a replacement of ``aot_stage2_inference``, which compiles a graph that has no backward."""

        @wraps(original)
        def inference(state: Any, capture: Any, *args: Any, **kwargs: Any) -> Any:
            if self._compiling:
                self._watch.guarded(lambda: self._captures("inference", capture.graph_module))
            return original(state, capture, *args, **kwargs)

        return inference

    def restoring(self, original: Function) -> Function:
        """Return a replacement of ``GenericAOTAutogradResult.wrap_post_compile``, which takes graphs from the cache."""

        @wraps(original)
        def wrap_post_compile(result: Any, *args: Any, **kwargs: Any) -> Any:
            if self._compiling and not self._traced:
                self._watch.guarded(lambda: self._restored(result))
            return original(result, *args, **kwargs)

        return wrap_post_compile

    def _restored(self, result: Any) -> None:
        backward = result.aot_backward_graph_str
        forward: ev.GraphStage = "inference" if backward is None else "forward"
        texts: dict[ev.GraphStage, str | None] = {
            "joint": result.aot_joint_graph_str,
            forward: result.aot_forward_graph_str,
            "backward": backward,
        }
        for stage, text in texts.items():
            if text is not None:
                saved = saved_values(text) if stage == "forward" else ()
                self._emit(ev.GraphCaptured, self._regions, stage, self._cache.lines(text), saved, True)

    def backward_traced(self, roots: Sequence[Any]) -> None:
        """Note the names of the Nodes of a backward that AOTAutograd traces."""
        if self._compiling and recorder.listening is self._watch:
            self._watch.guarded(lambda: self._nodes.update(self._nodes_of(roots)))

    def _nodes_of(self, roots: Sequence[Any]) -> Iterator[tuple[int, str]]:
        with self._watch.torch._C.DisableTorchFunction():
            waiting = [node for one in roots if (node := getattr(one, "grad_fn", None)) is not None]
            seen = set[Any]()
            while waiting:
                node = waiting.pop()
                if node not in seen:
                    seen.add(node)
                    yield node._sequence_nr(), node.name()
                    waiting += [to for to, _ in node.next_functions if to is not None]

    # -- calls of regions ---------------------------------------------------------------------------------------------

    def installing(self, original: Function) -> Function:
        """Return a replacement of ``OutputGraph.install_global_unsafe``. It puts our function in front of a region."""

        @wraps(original)
        def install_global_unsafe(output: Any, name: str, value: Any) -> None:
            original(output, name, value)
            if self._compiling and name.startswith(_REGION) and recorder.listening is self._watch:
                names = output.global_scope
                names[name] = _Region(self, self._regions, value).called
                self._globals.append((names, name))

        return install_global_unsafe

    def take_out(self) -> None:
        """Put the regions themselves into their globals again."""
        while self._globals:
            names, name = self._globals.pop()
            ours = getattr(names.get(name), "__self__", None)
            if isinstance(ours, _Region):
                names[name] = ours.compiled

    def begins(self, region: int) -> None:
        """Record that the program calls a region."""
        if not self.backwards.running:
            self._watch.line_calls(2)
        self._watch._emit_span(ev.RegionCalled, region)

    def returned(self, region: int, result: Any) -> None:
        """Record the Node that the call of a region has made."""
        watch = self._watch
        kind, seen = watch.torch.Tensor, set[int]()
        for tensor in result if isinstance(result, (list, tuple)) else (result,):
            if type(tensor) is not kind:
                continue
            with watch.torch._C.DisableTorchFunction():
                node = tensor.grad_fn if tensor.requires_grad and not tensor._is_view() else None
            if node is not None and node.name() == COMPILED_NODE:
                watch.nodes.look_at_bound(tensor)
                number = watch.nodes.known(node) - watch.first_node
                if number not in seen:
                    seen.add(number)
                    watch._emit(ev.RegionNodeMade, number, region)


class _Region:
    """A compiled region, with our function in front of it."""

    __slots__ = ("_number", "_watch", "compiled")

    def __init__(self, watch: CompilerWatch, number: int, compiled: Function) -> None:
        self._watch, self._number, self.compiled = watch, number, compiled

    def called(self, *args: Any, **kwargs: Any) -> Any:
        """Call the region, and record the call."""
        watch, live = self._watch, self._watch._watch
        if recorder.listening is not live or not (live.thread.watched or watch.backwards.running):
            return self.compiled(*args, **kwargs)
        live.guarded(lambda: watch.begins(self._number))
        try:
            result = self.compiled(*args, **kwargs)
            if recorder.listening is live:
                live.guarded(lambda: watch.returned(self._number, result))
            return result
        finally:
            if recorder.listening is live:
                live.leave()


def _returned(module: Any) -> Sequence[Any]:
    """Return the results of a graph."""
    *_, output = module.graph.nodes
    found: Sequence[Any] = output.args[0]
    return found
