"""The generator of the autograd part, from derivatives.yaml: ``nodes.py``, ``variable_type.py``, ``forward_mode.py``,
``inplace_or_view.py``.

The kind of an operator decides its kernel (``tools/autograd/gen_variable_type.py``). With formulas, the kernel builds a
Node. For an out= variant it only checks and redispatches. If the result is never differentiable, it just redispatches.
A composite operator has none, since its derivatives come from the operators that it calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from dispatchviz.core.codegen import forward, native
from dispatchviz.core.codegen.formula import Saved, Translator, local
from dispatchviz.core.codegen.model import Derivative, NativeFunction, Specification
from dispatchviz.core.codegen.pages import TYPE_IMPORTS, kernel_table, page
from dispatchviz.core.schema import python_signature as signature

HANDWRITTEN = ("copy_", "detach", "detach_", "resize_", "resize_as_", "_fw_primal", "_make_dual")
"""Operators whose autograd kernels PyTorch writes by hand too (``autograd/kernels/variable_type_manual.py``)."""

OF_LISTS = ("cat", "stack", "unbind.int", "block_diag")
"""Operators that take or return lists of tensors. Their kernels are generated in PyTorch and hand-written here
(``autograd/graph/list_nodes.py``).
"""

VIEW_FUNCTIONS = (
    *("as_strided", "expand", "permute", "select", "slice", "squeeze", "t", "transpose", "unsqueeze", "view", "alias"),
    *("_reshape_alias", "unfold"),
)
"""View functions whose in-place forms set the history of their result and do not rebase it."""

UNTRACEABLE_FUNCTIONS = (
    *VIEW_FUNCTIONS,
    *("_conj", "_neg_view", "diagonal", "split", "split_with_sizes", "view_as_complex", "view_as_real"),
)
"""Functions whose Nodes derive from Node itself: ``is_traceable`` stays false."""


# -- nodes -------------------------------------------------------------------------------------------------------------


def nodes(spec: Specification) -> str:
    """The module of Node classes."""
    parts, manual = [], set()
    for derivative in spec.nodes.values():
        if derivative.formulas:
            translator = Translator(spec, derivative)
            parts.append(_node(translator))
            manual |= translator.manual
    imports = {
        **_formula_imports(manual),
        "dispatchviz.core.autograd.graph.node": ("Gradients", "Node", "TraceableFunction"),
        "dispatchviz.core.generated": ("operators as ops",),
    }
    types = {
        "dispatchviz.core.autograd.graph.copy_nodes": ("Geometry",),
        "dispatchviz.core.autograd.graph.saved_variable": ("SavedVariable",),
        "dispatchviz.core.tensor.dtype": ("DType",),
        "dispatchviz.core.tensor.tensor": ("Size", "TensorOptions", "TypeAndSize"),
    }
    return page("Backward Nodes.", "torch/csrc/autograd/generated/Functions.cpp", imports, parts, types)


def _formula_imports(names: set[str]) -> dict[str, list[str]]:
    """The modules and names of the functions that formulas call, found in the modules' sources."""
    found: dict[str, list[str]] = {}
    for name in names & native.formula_functions().keys():
        found.setdefault(f"dispatchviz.core.autograd.formulas.{native.formula_functions()[name]}", []).append(name)
    return found


def _node(translator: Translator) -> str:
    derivative = translator.derivative
    edges = derivative.arguments
    formulas = [_formula(translator, names, text, edges) for names, text in derivative.formulas.items()]
    saved = sorted(translator.needs.saved.values(), key=lambda what: what.name)
    variables = [what for what in saved if what.is_variable]
    plain = [what for what in saved if not what.is_variable]
    shown = tuple(what.name for what in plain if not what.hidden)
    integers = tuple(
        what.name for what in plain if not what.hidden and what.kind.removesuffix(" | None") in ("int", "Size")
    )
    slots = tuple(f"{w.name}_" if w.is_variable else signature.python_name(w.name) for w in saved)
    base = "Node" if derivative.function.base in UNTRACEABLE_FUNCTIONS else "TraceableFunction"
    lines = [
        f"class {derivative.node}({base}):",
        f'    """{_summary(derivative)}"""',
        f"    __slots__ = {_tuple(slots)}",
        f"    edge_names = {_tuple(edges)}",
        *([f"    saved_variables = {_tuple(w.name for w in variables)}"] if variables else []),
        *([f"    saved_attributes = {_tuple(shown)}"] if shown else []),
        *([f"    saved_integers = {_tuple(integers)}"] if integers else []),
        *(f"    {w.name}_: {'list[SavedVariable]' if w.is_list else 'SavedVariable'}" for w in variables),
        *(f"    {signature.python_name(w.name)}: {w.kind}" for w in plain),
        "",
        *_apply(variables, edges, formulas, derivative),
    ]
    if variables:
        lines += ["", "    def release_variables(self) -> None:"]
        lines += [line for w in variables for line in _released(w)]
    return "\n".join(lines) + "\n"


def _tuple(names: Iterable[str]) -> str:
    """The text of a tuple, ``("self", "other")``."""
    words = [f'"{name}"' for name in names]
    return f"({words[0]},)" if len(words) == 1 else f"({', '.join(words)})"


def _released(what: Saved) -> list[str]:
    if what.is_list:
        return [f"        for saved in self.{what.name}_:", "            saved.reset_data()"]
    return [f"        self.{what.name}_.reset_data()"]


def _summary(derivative: Derivative) -> str:
    formulas = "    ".join(f"{', '.join(names)}: {text}" for names, text in derivative.formulas.items())
    arguments = ", ".join(argument.name for argument in derivative.function.schema.arguments)
    return f"{derivative.function.base}({arguments})    {formulas}"


def _formula(translator: Translator, names: tuple[str, ...], text: str, edges: tuple[str, ...]) -> list[str]:
    code = translator.translate(names, text)
    before = [f"            {line}" for line in translator.lines]
    positions = [edges.index(name) for name in names]
    if len(positions) == 1:
        return [
            f"        if self.task_should_compute_output({positions[0]}):",
            *before,
            f"            grad_inputs[{positions[0]}] = {code}",
        ]
    asked = ", ".join(map(str, positions))
    lines = [f"        if self.task_should_compute_output_any({asked}):", *before, f"            grad_result = {code}"]
    for place, position in enumerate(positions):  # copy_range: unneeded gradients stay undefined
        lines += [
            f"            if self.task_should_compute_output({position}):",
            f"                grad_inputs[{position}] = grad_result[{place}]",
        ]
    return lines


def _apply(
    variables: list[Saved], edges: tuple[str, ...], formulas: list[list[str]], derivative: Derivative
) -> Iterator[str]:
    yield "    def apply(self, grads: Gradients) -> Gradients:"
    used = set(re.findall(r"(?<![\w.])\w+", "\n".join(line for formula in formulas for line in formula)))
    for what in sorted(variables, key=lambda what: what.is_output):  # inputs first
        target = f"{local(what.name)}: Any = " if local(what.name) in used else ""  # all are unpacked, as in PyTorch
        if what.is_list:
            yield f"        {target}[saved.unpack() for saved in self.{what.name}_]"
        else:
            yield f"        {target}self.{what.name}_.unpack({'self' if what.is_output else ''})"
    every = _uses_all_gradients(derivative)
    if not every:
        yield "        grad = grads[0]"
    yield f"        grad_inputs: Gradients = [{', '.join(['None'] * len(edges))}]"
    yield "        if all(grad is None for grad in grads):" if every else "        if grad is None:"
    yield "            return grad_inputs"
    for formula in formulas:
        yield from formula
    yield "        return grad_inputs"


def _uses_all_gradients(derivative: Derivative) -> bool:
    """Return whether formulas name ``grads``: the function has several differentiable results."""
    return any(re.search(r"\bgrads\b", formula) for formula in derivative.formulas.values())


# -- variable_type -----------------------------------------------------------------------------------------------------


def variable_type(spec: Specification) -> str:
    """The kernels registered to the alias Autograd."""
    kernels = [(f, _autograd_kernel(spec, f)) for f in spec.functions.values() if _has_kernel(f)]
    table = kernel_table((function.name, function.kernel_identifier) for function, _ in kernels)
    parts = [*(text for _, text in kernels), table]
    mirrors = "torch/csrc/autograd/generated/VariableType_*.cpp"
    return page("Autograd kernels; ``KERNELS`` is the table.", mirrors, _KERNEL_IMPORTS, parts, TYPE_IMPORTS)


_KERNEL_IMPORTS = {
    "dispatchviz.core.autograd.variables.variable_checks": (
        *("check_inplace", "check_no_requires_grad", "check_out_variant", "never_differentiable"),
    ),
    "dispatchviz.core.autograd.graph.copy_nodes": ("geometry_of",),
    "dispatchviz.core.autograd.forward_mode.forward_ad": (
        *("NOT_IMPLEMENTED", "NOT_IMPLEMENTED_IN_PLACE", "OUT"),
        *("forbid_fw_derivatives", "is_fw_grad_defined", "levels"),
    ),
    "dispatchviz.core.autograd.formulas.formulas_index": ("zeros_like_saved",),
    "dispatchviz.core.autograd.formulas.jvp_decompositions": ("DECOMPOSITIONS",),
    "dispatchviz.core.autograd.graph.saved_variable": ("NOT_SAVED", "keep", "save"),
    "dispatchviz.core.autograd.variables.variable": (
        *("collect_next_edges", "compute_requires_grad", "set_history", "strides_or_error"),
    ),
    "dispatchviz.core.autograd.variables.view_info": ("rebase_history",),
    "dispatchviz.core.generated": ("forward_mode", "nodes", "operators as ops"),
    "dispatchviz.core.thread.guards": ("AutoDispatchBelowADInplaceOrView", "AutoDispatchBelowAutograd"),
    "dispatchviz.core.keys.key_set": ("after_autograd_keyset",),
    "dispatchviz.core.tensor.tensor": ("numel", "options_of", "type_and_size"),
}


def forward_mode(spec: Specification) -> str:
    """The module of functions that kernels call for arguments with tangents, one for each kernel with forward
    formulas.
    """
    differentiable = [(f, spec.derivatives[f.name]) for f in spec.functions.values() if f.name in spec.derivatives]
    having = [
        (f, derivative) for f, derivative in differentiable if _has_kernel(f) and forward.has_formulas(f, derivative)
    ]
    manual = {name for f, derivative in having for name in forward.called(spec, f, derivative)}
    imports = {
        **_formula_imports(manual),
        "dispatchviz.core.autograd.forward_mode.forward_ad": (
            *("forward_formula", "fw_grad", "primal", "set_fw_grad", "tangent_or_zero", "tangent_or_zeros"),
        ),
        "dispatchviz.core.generated": ("operators as ops",),
        "dispatchviz.core.tensor.tensor": ("numel", "options_of", "type_and_size"),
        "dispatchviz.core.thread.thread_state": ("thread",),
    }
    parts = [forward.function(spec, f, derivative) for f, derivative in having]
    mirrors = "torch/csrc/autograd/generated/VariableType_*.cpp"
    what = "The forward-mode part of the autograd kernels: tangents of results."
    return page(what, mirrors, imports, parts, TYPE_IMPORTS)


def _has_kernel(function: NativeFunction) -> bool:
    if function.composite_implicit or function.name in OF_LISTS:
        return False
    return function.base not in HANDWRITTEN


def _autograd_kernel(spec: Specification, function: NativeFunction) -> str:
    derivative = spec.derivatives.get(function.name)
    if function.out_arguments and not _never_differentiable(spec, function):
        body = _out_body(function)
    elif derivative is None or not derivative.formulas:
        body = _constant_body(function)
    else:
        body = _differentiable_body(spec, function, derivative)
    head = f"def {function.kernel_identifier}({_parameters(function)}) -> {signature.result_type(function.schema)}:"
    return head + "\n" + "\n".join(f"    {line}" if line else "" for line in body) + "\n"


def _never_differentiable(spec: Specification, out: NativeFunction) -> bool:
    """Return whether the functional operator behind an out= operator is never differentiable, by its entry."""
    inputs = [(a.name, a.type) for a in out.schema.arguments if a.name not in out.out_arguments]
    for derivative in spec.derivatives.values():
        function = derivative.function
        if function.base == out.base and [(a.name, a.type) for a in function.schema.arguments] == inputs:
            return not derivative.formulas
    return False


def _parameters(function: NativeFunction) -> str:
    return "ks: int" + signature.comma(signature.parameters(function.schema, defaults=False))


def _below_autograd(function: NativeFunction, target: str) -> Iterator[str]:
    """Yield the lines that redispatch below autograd. Kernels that write or make views have a next kernel at
    ADInplaceOrView.

    ``target`` begins the statement that uses the result: ``result = ``, ``return `` or nothing.
    """
    further = function.inplace or function.view or function.out_arguments
    guard = "AutoDispatchBelowAutograd" if further else "AutoDispatchBelowADInplaceOrView"
    return _redispatch(function, guard, "after_autograd_keyset", target)


def _redispatch(function: NativeFunction, guard: str, keyset: str, target: str) -> Iterator[str]:
    """Yield the two lines that ``core/call/guard_fusion.py`` fuses. It recognizes them only in this form."""
    yield f"with {guard}():"
    arguments = signature.comma(signature.names(function.schema))
    yield f"    {target}ops.{function.identifier}.redispatch(ks & {keyset}{arguments})"


def _tensors(function: NativeFunction) -> list[str]:
    tensors = [a for a in function.schema.arguments if a.type in ("Tensor", "Tensor?", "Tensor[]")]
    return [("*" if a.type == "Tensor[]" else "") + signature.python_name(a.name) for a in tensors]


def _out_body(function: NativeFunction) -> Iterator[str]:
    result = "outputs" if any(a.name == "result" for a in function.schema.arguments) else "result"
    if function.schema.returns:  # the check is part of the results
        yield f'check_out_variant("{function.base}", {", ".join(_tensors(function))})'
    yield from _below_autograd(function, f"{result} = ")
    yield "if levels:"
    yield f'    forbid_fw_derivatives("{function.cpp_name}", OUT, {", ".join(_tensors(function))})'
    yield f"return {result}"


def _constant_body(function: NativeFunction) -> Iterator[str]:
    yield "never_differentiable()"
    yield from _below_autograd(function, "return ")


def _differentiable_body(spec: Specification, function: NativeFunction, derivative: Derivative) -> Iterator[str]:
    translator = Translator(spec, derivative)
    for names, text in derivative.formulas.items():
        translator.translate(names, text)
    inputs = [signature.python_name(name) for name in derivative.arguments]
    yield f"grad_fn: nodes.{derivative.node} | None = None"
    if function.inplace:
        yield f"requires_grad = compute_requires_grad({', '.join(inputs)})"
    yield from forward.before(function, derivative)
    if function.inplace:
        yield "check_inplace(self, requires_grad)"
    yield from forward.original_self(function, derivative)
    yield from _refusals(function, derivative)
    condition = f"({derivative.condition}) and " if derivative.condition else ""
    yield "if requires_grad:" if function.inplace else f"if {condition}compute_requires_grad({', '.join(inputs)}):"
    yield f"    grad_fn = nodes.{derivative.node}()"
    yield f"    collect_next_edges(grad_fn, {', '.join(inputs)})"
    cloned = any(forward.original_self(function, derivative))
    for what in sorted(translator.needs.saved.values(), key=lambda what: what.name):
        if not what.is_output:
            yield from (f"    {line}" for line in _save(translator, function, what, cloned))
    names = function.result_names
    target = "" if function.inplace else f"{', '.join(names)} = "
    if not function.inplace:
        yield from forward.forbidden(function, derivative)
    if forward.decomposed(function, derivative):
        yield f"if {forward.any_tangent(function, derivative)}:"
        typed = f"{names[0]}: {signature.result_type(function.schema)} = " if len(names) == 1 else target
        yield f'    {typed}DECOMPOSITIONS["{function.name}"]({signature.names(function.schema)})'
        yield "else:"
        yield from (f"    {line}" for line in _below_autograd(function, target))
    else:
        yield from _below_autograd(function, target)
    yield "if grad_fn is not None:"
    yield from (f"    {line}" for line in _history(function, derivative))
    yield from forward.after(spec, function, derivative)
    saved_outputs = [name for name in names if name in translator.needs.saved]
    if saved_outputs:
        yield "if grad_fn is not None:"
    for what in sorted(translator.needs.saved.values(), key=lambda what: what.name):
        if what.is_output and not what.is_variable:
            yield from (f"    {line}" for line in _save(translator, function, what, cloned))
    yield from (f"    {_save_output(function, name)}" for name in saved_outputs)
    yield "return self" if function.inplace else f"return {', '.join(names)}"


def _history(function: NativeFunction, derivative: Derivative) -> Iterator[str]:
    """Yield the lines that set or rebase the history of the results.

    NB: as in PyTorch, an operator that only changes the geometry (``unsqueeze_``) does not rebase a view's history.
    """
    if function.inplace:
        setter = "set_history" if function.base.removesuffix("_") in VIEW_FUNCTIONS else "rebase_history"
        yield f"{setter}(self, grad_fn)"
    elif function.schema.returns[0].type == "Tensor[]":
        yield "for each in result:"
        yield "    set_history(each, grad_fn)"
    else:
        outputs = zip(function.result_names, derivative.differentiable, strict=True)
        yield from (f"set_history({name}, grad_fn)" for name, differentiable in outputs if differentiable)


def _refusals(function: NativeFunction, derivative: Derivative) -> Iterator[str]:
    """Yield the checks that tensor arguments without a formula do not require grad. Arguments that are marked as
    non-differentiable, or that are the output of a forward, need none.
    """
    for name in _tensors(function):
        if name not in derivative.arguments and name not in derivative.non_differentiable and name != "output":
            yield f'check_no_requires_grad({name}, "{name}", "{function.base}")'


def _save(translator: Translator, function: NativeFunction, what: Saved, cloned: bool) -> Iterator[str]:
    """Yield the lines that save one value. ``cloned`` means that a variable holds the old value of the tensor that is
    written to.
    """
    slot = f"grad_fn.{what.name}_" if what.is_variable else f"grad_fn.{signature.python_name(what.name)}"
    if not what.is_variable:
        yield f"{slot} = {what.value}" if what.hidden else f'{slot} = keep(grad_fn, "{what.name}", {what.value})'
        return
    if what.is_list:
        yield f'{slot} = [save(grad_fn, "{what.name}", each) for each in {what.value}]'
        return
    if what.name in translator.needs.edges:
        asked = " or ".join(f"grad_fn.should_compute_output({edge})" for edge in translator.needs.edges[what.name])
        yield f'{slot} = save(grad_fn, "{what.name}", {what.value}) if {asked} else NOT_SAVED'
        return
    edge = _only_edge(translator, what)
    if not (function.inplace and what.name == "self"):
        only = "" if edge is None else f", edge={edge}"
        yield f'{slot} = save(grad_fn, "{what.name}", {what.value}{only})'
    elif edge is None:
        yield from _save_old_value(slot, cloned)
    else:
        yield f"{slot} = NOT_SAVED"
        yield f"if grad_fn.should_compute_output({edge}):"
        yield from (f"    {line}" for line in _save_old_value(slot, cloned))


def _save_old_value(slot: str, cloned: bool) -> Iterator[str]:
    if cloned:
        yield "if original_self is None:"
        yield "    original_self = ops.clone.call(self)"
    yield f'{slot} = save(grad_fn, "self", {"original_self" if cloned else "ops.clone.call(self)"})'


def _only_edge(translator: Translator, what: Saved) -> int | None:
    """The edge whose formula alone needs the value. None if several formulas do, or if there is only one edge (then it
    is always saved).
    """
    arguments = translator.derivative.arguments
    users = translator.needs.users[what.name]
    names = next(iter(users))
    skipped = "backward" in translator.derivative.function.base or len(arguments) == 1
    return arguments.index(names[0]) if len(users) == 1 and len(names) == 1 and not skipped else None


def _save_output(function: NativeFunction, name: str) -> str:
    if function.inplace:
        view = "is_output=True, is_inplace_on_view=self._view is not None"
        return f'grad_fn.result_ = save(grad_fn, "result", self, {view})'
    return f'grad_fn.{name}_ = save(grad_fn, "{name}", {name}, is_output=True)'


# -- inplace_or_view ---------------------------------------------------------------------------------------------------


def inplace_or_view(spec: Specification) -> str:
    """The kernels registered to ADInplaceOrView."""
    functions = [
        f
        for f in spec.functions.values()
        if _has_kernel(f) and (f.inplace or f.view or f.out_arguments) and f.schema.returns  # not lists in place
    ]
    table = kernel_table((function.name, function.kernel_identifier) for function in functions)
    imports = {
        "dispatchviz.core.autograd.variables.variable": ("increment_version",),
        "dispatchviz.core.autograd.variables.view_info": ("as_view", "non_differentiable_view", "several_views"),
        "dispatchviz.core.generated": ("operators as ops",),
        "dispatchviz.core.thread.guards": ("AutoDispatchBelowADInplaceOrView",),
        "dispatchviz.core.keys.key_set": ("after_ADInplaceOrView_keyset",),
    }
    parts = [*(_inplace_or_view_kernel(spec, function) for function in functions), table]
    mirrors = "torch/csrc/autograd/generated/ADInplaceOrViewType_*.cpp"
    what = "Version bumps and views; ``KERNELS`` is the table."
    return page(what, mirrors, imports, parts, TYPE_IMPORTS)


def _inplace_or_view_kernel(spec: Specification, function: NativeFunction) -> str:
    head = f"def {function.kernel_identifier}({_parameters(function)}) -> {signature.result_type(function.schema)}:"
    lines = _inplace_or_view_body(spec, function)
    return "\n".join([head, *(f"    {line}" for line in lines)]) + "\n"


def _inplace_or_view_body(spec: Specification, function: NativeFunction) -> Iterator[str]:
    target = "result = " if function.view else ""
    yield from _redispatch(function, "AutoDispatchBelowADInplaceOrView", "after_ADInplaceOrView_keyset", target)
    if function.view and function.schema.returns[0].type == "Tensor[]":
        yield "return [as_view(self, each, several_views()) for each in result]"
    elif function.view:
        derivative = spec.derivatives.get(function.name)
        kind = "as_view" if derivative is None or any(derivative.differentiable) else "non_differentiable_view"
        yield f"return {kind}(self, result)"
    else:
        written = ["self"] if function.inplace else list(map(signature.python_name, function.out_arguments))
        yield from (f"increment_version({name})" for name in written)
        yield f"return {', '.join(written)}"
