"""The generator of ``generated/register_<key>.py``: the kernels that the yaml's dispatch sections register for each
key.

Structured families get their wrappers for CPU, CUDA and Meta, and the default-backend ones that run the meta function
and then call the out operator. Every operator that accepts tensor options gets a BackendSelect kernel.

Nearly all kernels of CPU and CUDA call the same functions of ``native/``. These are written once, in
``generated/register_cpu_cuda.py``. If PyTorch's impl functions have another name for each device, the backend bit of
the key set decides which name is used. ``register_cpu.py`` and ``register_cuda.py`` have the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from dispatchviz.core.codegen import native
from dispatchviz.core.codegen.model import (
    DISPATCH_KEYS,
    NativeFunction,
    Specification,
    structured_group,
)
from dispatchviz.core.codegen.pages import TYPE_IMPORTS, kernel_table, page
from dispatchviz.core.schema import python_signature as signature

_STRUCTURED_KEYS = ("CPU", "CUDA", "Meta")


def texts(spec: Specification) -> Iterator[tuple[str, str]]:
    """Yield pairs of a module name and its text."""
    kernels = {key: [k for f in spec.functions.values() for k in _kernels(spec, f, key)] for key in DISPATCH_KEYS}
    shared = [*_shared(kernels["CPU"], kernels["CUDA"])]
    kernels["CUDA"] = [(function, name, _checked(function, name, text)) for function, name, text in kernels["CUDA"]]
    names = {function.name for function, *_ in shared}
    yield (
        _SHARED,
        _page(
            "Kernels registered under CPU and CUDA alike; ``KERNELS`` is the table.\n\n"
            "Kernels that differ, or that one of the two lacks, are in ``register_cpu.py`` and ``register_cuda.py``.",
            _mirrored("CPU", "CUDA"),
            shared,
        ),
    )
    for key, own in kernels.items():
        if key in _SHARING:
            own = [kernel for kernel in own if kernel[0].name not in names]
            what = f"Kernels registered under {key} alone; ``KERNELS`` is the table, with the shared ones."
            yield _module(key), _page(what, _mirrored(key), own, f"{_SHARED}.KERNELS | ")
        else:
            yield _module(key), _page(_WHAT.format(key), _mirrored(key), own)
    select = [_backend_select(f) for f in spec.functions.values() if _selects_backend(f)]
    yield _module("BackendSelect"), _page(_WHAT.format("BackendSelect"), _mirrored("BackendSelect"), select)


def _module(key: str) -> str:
    """The name of a key's module: ``register_cpu``, ``register_composite_explicit_autograd``."""
    return "register_" + re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).lower()


def _mirrored(*keys: str) -> str:
    return " and ".join(f"build/aten/src/ATen/Register{key}_*.cpp" for key in keys)


_SHARED = "register_cpu_cuda"
_SHARING = ("CPU", "CUDA")
_WHAT = "Kernels registered under {}; ``KERNELS`` is the table."

Kernel = tuple[NativeFunction, str, str]
"""The operator, the name of the Python function, and its text."""


def _page(what: str, mirrors: str, kernels: list[Kernel], more: str = "") -> str:
    """The text of a module. ``more`` is an expression for further rows of the table."""
    table = kernel_table(((function.name, name) for function, name, _ in kernels), more)
    imports = {
        "dispatchviz.core.seam": ("recorder",),
        "dispatchviz.core.call.aten": ("CUDA_BIT", "backend_select_keys"),
        "dispatchviz.core.call.common_device": ("check_common_device",),
        "dispatchviz.core.generated": ("operators as ops", _SHARED),
        **_native_imports([text for *_, text in kernels]),
        "dispatchviz.core.call.structured": VARIANTS,
    }
    parts = [*(text for *_, text in kernels), table]
    return page(what, mirrors, imports, parts, TYPE_IMPORTS)


def _shared(cpu: list[Kernel], cuda: list[Kernel]) -> Iterator[Kernel]:
    """Yield the kernels that do the same on both devices, apart from the name of PyTorch's impl function."""
    on_cuda = {function.name: (name, text) for function, name, text in cuda}
    for function, name, text in cpu:
        if function.name in on_cuda:
            other_name, other = on_cuda[function.name]
            both = name.replace("_CPU", "", 1)
            merged = _merged(text.replace(name, both, 1), other.replace(other_name, both, 1))
            if merged:
                text = _checked(function, other_name, merged, "ks & CUDA_BIT")
                yield function, both, _with_docstring(text, f"{name} and {other_name}.")


_IMPL = re.compile(r'(?<=enter_impl\()"\w+"')


def _merged(cpu: str, cuda: str) -> str:
    """One text for two that differ only in the names of impl functions; empty for others."""
    if cpu == cuda:
        return cpu
    names = f"{_IMPL.findall(cuda)[0]} if ks & CUDA_BIT else {_IMPL.findall(cpu)[0]}" if _IMPL.search(cpu) else ""
    merged = _IMPL.sub(names, cpu)
    return merged if names and merged == _IMPL.sub(names, cuda) else ""


def _checked(function: NativeFunction, name: str, text: str, condition: str = "") -> str:
    """The text with the device check that torchgen writes into the wrappers of CUDA. ``name`` is the name of the
    wrapper there.

    ``condition`` is true if the wrapper runs for CUDA; it is needed if the wrapper serves other devices too. If there
    are few tensors and all are required, they are compared in place, which costs a tenth of a call.
    """
    tensors = function.checked_tensors
    if not tensors:
        return text
    named = ", ".join(f"{tensor.name}={signature.python_name(tensor.name)}" for tensor in tensors)
    devices = [f"{signature.python_name(tensor.name)}._device" for tensor in tensors]
    always = len(tensors) < 5 and all(tensor.type == "Tensor" for tensor in tensors)
    differ = f"not ({' is '.join(devices)})" if len(devices) > 2 else " is not ".join(devices)
    when = " and ".join(part for part in (condition, differ if always else "") if part)
    check = f'check_common_device("{name}", {named})'
    head, _, body = text.partition(":\n")
    return f"{head}:\n{_indented([f'if {when}:', f'    {check}'] if when else [check])}\n{body}"


def _with_docstring(text: str, docstring: str) -> str:
    head, _, body = text.partition(":\n")
    return f'{head}:\n    """{docstring}"""\n{body}'


def _native_imports(texts: list[str]) -> dict[str, list[str]]:
    """The modules of ``native/`` whose functions are called, by folder."""
    called = {name for text in texts for name in re.findall(r" (\w+)\.", text)}
    found: dict[str, list[str]] = {}
    for room, _, name in (module.partition(".") for module in native.modules()):
        if name in called:
            found.setdefault(f"dispatchviz.core.native.{room}", []).append(name)
    return found


def _kernels(spec: Specification, function: NativeFunction, key: str) -> Iterator[Kernel]:
    """Yield the kernel of one operator for one key, if it has one."""
    group = structured_group(spec.functions, function)
    if group is not None and key not in function.dispatch:
        if key in _STRUCTURED_KEYS:
            yield _structured(spec, function, group, key)
        elif key == "CompositeExplicitAutogradNonFunctional" and not function.out_arguments:
            yield _default_backend(spec, function, group, key)
    elif key in function.dispatch:
        yield _structured(spec, function, group, key) if group is function else _plain(function, key)


def _plain(function: NativeFunction, key: str) -> Kernel:
    overload = function.name.partition(".")[2]
    name = f"wrapper_{key}_{overload}_{function.cpp_name}"
    body = native.body(function, function.dispatch[key])
    return function, name, _define(function, name, f"    return {body}({signature.names(function.schema)})")


def _define(function: NativeFunction, name: str, body: str) -> str:
    parameters = signature.comma(signature.parameters(function.schema, defaults=False))
    return f"def {name}(ks: int{parameters}) -> {signature.result_type(function.schema)}:\n{body}\n"


VARIANTS = ("DefaultBackend", "Functional", "InPlace", "Out")
"""Variants of structured kernels and their classes in ``core/call/structured.py``."""


def _variant(function: NativeFunction, family: str, key: str = "") -> str:
    if function.out_arguments:
        return f'Out("{family}", {signature.python_name(function.out_arguments[0])})'
    functional = "Functional" if key in _STRUCTURED_KEYS else "DefaultBackend"
    return f'InPlace("{family}", self)' if function.inplace else f'{functional}("{family}")'


def _inputs(function: NativeFunction) -> str:
    """The arguments of meta and impl: all except the output."""
    names = [a.name for a in function.schema.arguments if a.name not in function.out_arguments]
    return ", ".join(map(signature.python_name, names))


def _structured(spec: Specification, function: NativeFunction, group: NativeFunction, key: str) -> Kernel:
    family, inputs = spec.functional[group.name].identifier, _inputs(function)
    name = f"wrapper_{key}_{function.kernel_identifier}"
    if len(function.schema.returns) > 1:
        return function, name, _define(function, name, _indented(_several(function, group, family, key)))
    takes = "precomputed = " if group.precomputed and key != "Meta" else ""
    lines = [
        *_alike(function, key),
        f"op = {_variant(function, family, key)}",
        *_meta(f"{takes}{native.meta(family, group)}(op, {inputs})"),
    ]
    if key != "Meta":
        if group.iterator:
            lines += _read(function)
        lines += _impl(group, key, inputs, "op.output" if function.inplace and not group.iterator else "op.target")
    return function, name, _define(function, name, _indented([*lines, "return op.finish()"]))


_WITHOUT_FACTOR = "alpha.__class__ is int and alpha == 1"
_ALIKE = {
    "add.Tensor": ("add_alike", _WITHOUT_FACTOR),
    "mul.Tensor": ("mul_alike", ""),
    "sub.Tensor": ("sub_alike", f"{_WITHOUT_FACTOR} and self._dtype.can_require_grad"),
}
"""The loops of ``native/arithmetic/binary_ops.py`` for operands that are alike, and the conditions that they need
besides: half of the calls of a small program are these.
"""


def _alike(function: NativeFunction, key: str) -> Iterator[str]:
    """Yield the lines that compute the result at once if the operands are alike (``native/iterator/alike.py``)."""
    name = function.name.replace("_.", ".") if function.inplace else function.name
    if key in _SHARING and name in _ALIKE:
        loop, condition = _ALIKE[name]
        if function.inplace:
            run, result = f"binary_ops.{loop}.run_in_place(self, other)", "self"
        else:
            run, result = f"(result := binary_ops.{loop}.run(self, other)) is not None", "result"
        yield f"if {f'{condition} and ' if condition else ''}{run}:"
        yield f"    return {result}"


def _indented(lines: Iterable[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)


def _meta(call: str, op: str = "op") -> Iterator[str]:
    yield "if recorder.active is not None:"
    yield f"    {op}.enter_meta()"
    yield call


def _read(function: NativeFunction) -> Iterator[str]:
    """Yield the lines that replace arguments by the operands that an iterator cast in meta, since the impl reads
    those.
    """
    arguments = [a for a in function.schema.arguments if a.name not in function.out_arguments]
    operands = [a.name for a in arguments if a.type in ("Tensor", "Tensor?") or (a.type, a.name) == ("Scalar", "other")]
    names = ", ".join(map(signature.python_name, operands))
    yield "if op.operands:"
    yield f"    {names if len(operands) > 1 else f'({names},)'} = op.read({names})"


def _impl(group: NativeFunction, key: str, inputs: str, written: str, ops: str = "op") -> Iterator[str]:
    """Yield the lines that run the impl. ``written`` is the tensor to write to: as in PyTorch, only out= has
    ``maybe_get_output``.
    """
    kernel = group.dispatch[key]
    body = native.body(group, kernel)
    if group.precomputed:
        inputs = re.sub(rf"\b{group.precomputed}\b", "precomputed", inputs)
    first, *others = ops.split(", ")
    yield "if recorder.active is not None:"
    yield f'    {first}.enter_impl("{kernel}", {body}{signature.comma(", ".join(others))})'
    yield f"{body}({inputs}, {written})"


def _several(function: NativeFunction, group: NativeFunction, family: str, key: str) -> Iterator[str]:
    """The kernel of a structured operator with several outputs: one ``Structured`` for each."""
    inputs, count = _inputs(function), len(function.schema.returns)
    outs = [signature.python_name(name) for name in function.out_arguments]
    made = [f'Out("{family}", {name})' for name in outs] or [_variant(function, family, key)] * count
    outputs = ", ".join(f"op{index}" for index in range(count))
    yield f"{outputs} = {', '.join(made)}"
    yield from _meta(f"{native.meta(family, group)}(({outputs}), {inputs})", "op0")
    if key not in _STRUCTURED_KEYS:
        yield "op0.leave_meta()"
        yield f"return ops.{group.identifier}.call({inputs}, {', '.join(f'op{i}.output' for i in range(count))})"
        return
    if key != "Meta":
        yield from _impl(group, key, inputs, ", ".join(f"op{index}.target" for index in range(count)), outputs)
    others = [f"op{index}.bring_back()" for index in range(1, count)]
    yield f"return {', '.join(['op0.finish()', *others])}"


def _default_backend(spec: Specification, function: NativeFunction, group: NativeFunction, key: str) -> Kernel:
    family, inputs = spec.functional[group.name].identifier, _inputs(function)
    name = f"wrapper_{key}_{function.kernel_identifier}"
    if len(function.schema.returns) > 1:
        return function, name, _define(function, name, _indented(_several(function, group, family, key)))
    lines = [
        f"op = {_variant(function, family)}",
        *_meta(f"{native.meta(family, group)}(op, {inputs})"),
        "op.leave_meta()",
        f"return ops.{group.identifier}.call({inputs}, op.output)",
    ]
    return function, name, _define(function, name, _indented(lines))


def _selects_backend(function: NativeFunction) -> bool:
    """Return whether the function accepts tensor options and its name does not say that it follows another tensor."""
    like = function.base.endswith("_like") or function.base.startswith("new_")
    return function.is_factory and not like


def _backend_select(function: NativeFunction) -> Kernel:
    tensors = [signature.python_name(a.name) for a in function.schema.arguments if a.type == "Tensor"]
    keys = f"backend_select_keys(dtype, layout, device{signature.comma(', '.join(tensors))})"
    body = f"    return ops.{function.identifier}.redispatch({keys}, {signature.names(function.schema)})"
    return function, function.identifier, _define(function, function.identifier, body)
