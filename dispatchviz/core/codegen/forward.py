"""The generator of the forward-mode part of autograd kernels: which formulas run, their arguments, and the tangents
that are set.

A kernel decides at its beginning which formulas will run, and calls its function in ``generated/forward_mode.py`` where
PyTorch's kernel computes tangents. So the usual path through the kernel stays in one piece.

It mirrors ``emit_fw_derivatives`` of ``tools/autograd/gen_variable_type.py``. ``forward_derivatives.py`` prepares the
formulas.

Rule 1: if both operands of ``+ - * /`` are calls, the C++ compiler evaluates them from right to left, and so do we.
Rule 2: an in-place operation has changed ``self`` when its formula runs. Formulas that need the old value get a clone
made before; ``result`` is the new value.
Rule 3: in place, an existing tangent is written to. A formula like ``self_t.op(...)`` of ``op`` itself becomes
``self_t.op_(...)``. The result of any other formula is copied.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from dispatchviz.core.codegen import native
from dispatchviz.core.codegen.formula import PROPERTIES, Code, Translator
from dispatchviz.core.codegen.forward_derivatives import (
    AUTO_LINEAR,
    ForwardDerivative,
    derivatives,
    differentiable_inputs,
)
from dispatchviz.core.codegen.model import Derivative, NativeFunction, Specification
from dispatchviz.core.schema.function_schema import Argument
from dispatchviz.core.schema.python_signature import python_name, python_type


def condition(function: NativeFunction, derivative: Derivative, each: ForwardDerivative) -> str:
    """The condition under which the formula is evaluated at all: ``levels and is_fw_grad_defined(self, other)``."""
    inputs = [python_name(a.name) for a in differentiable_inputs(function, derivative) if a.name in each.tangents]
    asked = f"levels and is_fw_grad_defined({', '.join(inputs)})"
    return f"({derivative.condition}) and {asked}" if derivative.condition else asked


def flag(each: ForwardDerivative) -> str:
    """The local variable that holds ``condition``, with PyTorch's name."""
    return f"any_has_forward_grad_{'_'.join(each.results)}"


DECOMPOSITIONS = native.assigned_keys(native.FORMULAS / "jvp_decompositions.py", "DECOMPOSITIONS")


def _why(function: NativeFunction) -> str:
    """The constant that holds the reason why an operator has no forward formula."""
    return "NOT_IMPLEMENTED_IN_PLACE" if function.inplace else "NOT_IMPLEMENTED"


def decomposed(function: NativeFunction, derivative: Derivative) -> bool:
    """Return whether the operator is decomposed into others when an argument has a tangent."""
    return not derivative.forward and function.name in DECOMPOSITIONS


def any_tangent(function: NativeFunction, derivative: Derivative) -> str:
    """The condition that some argument has a tangent."""
    tensors = [
        ("*" if a.type == "Tensor[]" else "") + python_name(a.name) for a in differentiable_inputs(function, derivative)
    ]
    return f"levels and is_fw_grad_defined({', '.join(tensors)})"


def before(function: NativeFunction, derivative: Derivative) -> Iterator[str]:
    """Yield the lines at the beginning of the kernel that decide which formulas will run."""
    for each in derivatives(function, derivative):
        yield f"{flag(each)} = {condition(function, derivative, each)}"


def original_self(function: NativeFunction, derivative: Derivative) -> Iterator[str]:
    """Yield the line that keeps the old value of an in-place operation, if its formula needs that."""
    for each in derivatives(function, derivative):
        if each.required_original_self_value:
            yield f"original_self = ops.clone.call(self) if {flag(each)} else None"


def called(spec: Specification, function: NativeFunction, derivative: Derivative) -> set[str]:
    """The functions of ``autograd/`` that the formulas call."""
    names = set[str]()
    for each in derivatives(function, derivative):
        parts = (each.formula.body, each.formula.orelse) if isinstance(each.formula, ast.IfExp) else (each.formula,)
        for part in parts:
            translator = ForwardTranslator(spec, derivative)
            translator.assigned("", replace(each, formula=part))
            names |= translator.manual
    return names


def has_formulas(function: NativeFunction, derivative: Derivative) -> bool:
    """Return whether the kernel has a function in ``generated/forward_mode.py``."""
    return bool(derivatives(function, derivative))


def after(spec: Specification, function: NativeFunction, derivative: Derivative) -> Iterator[str]:
    """Yield the lines of the kernel after the call, which have the tangents computed and set."""
    flags = [flag(each) for each in derivatives(function, derivative)]
    if flags:
        names = ", ".join(name for name, _ in _parameters(spec, function, derivative))
        yield f"if {' or '.join(flags)}:"
        yield f"    forward_mode.{function.kernel_identifier}({names})"
    if function.inplace:
        yield from forbidden(function, derivative)


def function(spec: Specification, function: NativeFunction, derivative: Derivative) -> str:
    """The function that computes and sets the tangents of one operator's results."""
    parameters = ", ".join(f"{name}: {kind}" for name, kind in _parameters(spec, function, derivative))
    lines = (f"    {line}" for line in _body(spec, function, derivative))
    return "\n".join([f"def {function.kernel_identifier}({parameters}) -> None:", *lines]) + "\n"


def _parameters(spec: Specification, function: NativeFunction, derivative: Derivative) -> list[tuple[str, str]]:
    """The parameters of that function, with types: which of several formulas are evaluated, the results, the old value
    of the tensor that was written to, arguments.
    """
    used = _names_in(_body(spec, function, derivative))
    results = zip(function.result_names, function.schema.returns, strict=True)
    known = [(flag(each), "object") for each in derivatives(function, derivative)]
    known += [(name, python_type(result.type)) for name, result in results]
    known += [("original_self", "Tensor | None")]
    known += [(python_name(a.name), python_type(a.type)) for a in function.schema.arguments]
    return [(name, kind) for name, kind in known if name in used]


def _names_in(lines: Iterable[str]) -> set[str]:
    return {node.id for node in ast.walk(ast.parse("\n".join(lines))) if isinstance(node, ast.Name)}


def _body(spec: Specification, function: NativeFunction, derivative: Derivative) -> Iterator[str]:
    """Yield the lines that compute and set the tangents. Operands that a formula does not use are computed as well, as
    in PyTorch.
    """
    lines = list(_computed_and_set(spec, function, derivative))
    counts = Counter(re.findall(r"\w+", re.sub(r'"[^"]*"', "", "\n".join(lines))))
    for line in lines:
        target, _, value = line.partition(" = ")
        yield line.replace(f"{target.strip()} = ", "") if value and counts[target.strip()] == 1 else line


def _computed_and_set(spec: Specification, function: NativeFunction, derivative: Derivative) -> Iterator[str]:
    found = derivatives(function, derivative)
    if len(found) == 1:
        yield from _evaluated(spec, function, derivative, found[0])
        yield from _set(function, found[0])
        return
    for each in found:
        yield f"if {flag(each)}:"
        yield from (f"    {line}" for line in _evaluated(spec, function, derivative, each))
    for each in found:
        yield f"if {flag(each)}:"
        yield from (f"    {line}" for line in _set(function, each))


def forbidden(function: NativeFunction, derivative: Derivative) -> Iterator[str]:
    """Yield the lines that refuse tangents if there is no formula: before the call, or after it for an in-place
    operation.
    """
    if derivative.forward or decomposed(function, derivative):
        return
    tensors = ", ".join(
        ("*" if a.type == "Tensor[]" else "") + python_name(a.name) for a in differentiable_inputs(function, derivative)
    )
    yield "if levels:"
    yield f'    forbid_fw_derivatives("{function.cpp_name}", {_why(function)}, {tensors})'


def _evaluated(
    spec: Specification, function: NativeFunction, derivative: Derivative, each: ForwardDerivative
) -> Iterator[str]:
    """Yield the lines that compute one tangent."""
    shown = ast.unparse(each.formula).replace('"', "'")
    how = f', "{each.how}"' if each.how else ""
    yield f'with forward_formula("{shown}"{how}):'
    for argument in differentiable_inputs(function, derivative):
        yield from (f"    {line}" for line in _unpacked(function, each, argument))
    if each.required_original_self_value:
        yield from (f"    {line}" for line in _unpacked_original(function, derivative))
    elif each.is_reusing_outplace_formula:
        yield "    if thread.state.grad_mode:"
        yield "        self_t = ops.clone.call(self_t)"
    written = _directly_inplace(derivative, each) if each.is_reusing_outplace_formula else None
    if written is not None:
        yield "    if self_t_raw is not None:"
        yield from (f"        {line}" for line in _formula(spec, derivative, replace(each, formula=written)))
        yield "    else:"
        yield from (f"        {line}" for line in _formula(spec, derivative, each))
        return
    yield from (f"    {line}" for line in _formula(spec, derivative, each))
    if each.is_reusing_outplace_formula:
        yield "    if self_t_raw is not None:"
        yield f"        {_new(each)} = ops.copy_.call(self_t_raw, {_new(each)}, False)"


def _directly_inplace(derivative: Derivative, each: ForwardDerivative) -> ast.expr | None:
    """The formula that writes into the tangent, if it calls the operator itself on the tangent; else None."""
    match each.formula:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self_t"), attr=name), args=args, keywords=[]) if (
            name == derivative.function.base
        ):
            return ast.Call(ast.Attribute(ast.Name("self_t_raw"), f"{name}_"), args, [])
    return None


def _new(each: ForwardDerivative) -> str:
    return ", ".join(f"{result}_new_fw_grad" for result in each.results)


def _unpacked(function: NativeFunction, each: ForwardDerivative, argument: Argument) -> Iterator[str]:
    """Yield the lines for ``X_t`` and ``X_p`` of one argument, as far as they are needed."""
    name = python_name(argument.name)
    optional = f"None if {name} is None else " if argument.type == "Tensor?" else ""
    if argument.name in each.tangents:
        if function.inplace and name == "self":
            yield "self_t_raw = fw_grad(self)"
            yield "self_t = tangent_or_zeros(self, self_t_raw)"
        else:
            yield f"{argument.name}_t = {optional}tangent_or_zero({name})"
    if argument.name in each.primals:
        yield f"{argument.name}_p = {optional}primal({name})"


def _unpacked_original(function: NativeFunction, derivative: Derivative) -> Iterator[str]:
    """Yield the lines for the tangent and primal of the old ``self``.

    NB: as in PyTorch, the last argument decides what kind of zeros they are.
    """
    real = differentiable_inputs(function, derivative)[-1].name == "self"
    yield "assert original_self is not None"
    zeros = "tangent_or_zeros(original_self, fw_grad(original_self))" if real else "tangent_or_zero(original_self)"
    yield f"original_self_t = {zeros}"
    yield "original_self_p = primal(original_self)"


def _formula(spec: Specification, derivative: Derivative, each: ForwardDerivative) -> Iterator[str]:
    if not isinstance(each.formula, ast.IfExp):
        yield from ForwardTranslator(spec, derivative).assigned(_new(each), each)
        return
    yield f"if {ast.unparse(each.formula.test)}:"
    chosen = replace(each, formula=each.formula.body)
    yield from (f"    {line}" for line in ForwardTranslator(spec, derivative).assigned(_new(each), chosen))
    yield "else:"
    chosen = replace(each, formula=each.formula.orelse)
    yield from (f"    {line}" for line in ForwardTranslator(spec, derivative).assigned(_new(each), chosen))


def _set(function: NativeFunction, each: ForwardDerivative) -> Iterator[str]:
    if function.inplace:
        yield f"set_fw_grad(self, {_new(each)}, is_inplace_op=True)"
    elif function.schema.returns[0].type == "Tensor[]":
        yield f"for each, tangent in zip({each.result}, {_new(each)}, strict=True):"
        yield "    set_fw_grad(each, tangent)"
    else:
        yield from (f"set_fw_grad({result}, {result}_new_fw_grad)" for result in each.results)


class ForwardTranslator(Translator):
    """Translates a forward formula; its names are local variables of the kernel."""

    def __init__(self, spec: Specification, derivative: Derivative) -> None:
        super().__init__(spec, derivative)
        tensors = [name for name, kind in self._kinds.items() if kind in ("Tensor", "Tensor?", "Tensor[]")]
        made = [f"{name}_{letter}" for name in (*tensors, "original_self", "self") for letter in "tp"]
        self._kinds |= dict.fromkeys((*made, "self_t_raw", *derivative.function.result_names), "Tensor")

    def assigned(self, target: str, each: ForwardDerivative) -> list[str]:
        """Return the lines that evaluate a formula into a variable."""
        self._user = (each.result,)
        if each.how == AUTO_LINEAR:
            assert isinstance(each.formula, ast.Call)
            words = ", ".join(ast.unparse(word) for word in each.formula.args)
            return [f"{target} = ops.{self.derivative.function.identifier}.call({words})"]
        code = self._code(each.formula)
        return [*self.lines, f"{target} = {code.text}"]

    def _code(self, node: ast.expr) -> Code:
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            return Code(f"{self._code(node.value).text}[{node.slice.value!r}]", "Tensor")
        if isinstance(node, ast.BinOp) and _calls(node.left) and _calls(node.right):
            right = self._code(node.right)
            name = f"term_{len(self.lines)}"
            self.lines.append(f"{name} = {right.text}")
            self._kinds[name] = right.kind
            return super()._code(ast.BinOp(node.left, node.op, ast.Name(name)))
        return super()._code(node)

    def _name(self, name: str) -> Code:
        if name not in self._kinds:
            raise self._error(f"unknown name {name!r}; a formula may use {', '.join(self._kinds)}")
        kind = self._kinds[name].rstrip("?")
        kind = "Size" if re.match(r"(Sym)?[iI]nt\[", kind) else "int" if kind == "SymInt" else kind
        return Code(python_name(name), kind)

    def _property(self, name: str, attribute: str) -> Code:
        kind, value = PROPERTIES[attribute]
        return Code(value.format(python_name(name)), kind)

    def _may_be_undefined(self, function: NativeFunction) -> bool:
        return False

    def _length(self, name: str, place: int) -> Code:
        return Code(f"{python_name(name)}._size[{place}]", "int")


def _calls(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return not isinstance(node.operand, ast.Constant)
    if isinstance(node, ast.Subscript):
        return _calls(node.value)
    return isinstance(node, (ast.Call, ast.BinOp))
