"""Forward formulas of derivatives.yaml, brought into the form in which one operator's kernel evaluates them.

A forward formula gives the tangent of a result. In it, ``X_t`` is the tangent of argument X and ``X_p`` is the argument
without its tangent. ``auto_linear`` means the operator itself, called on the tangents; ``auto_element_wise`` means the
backward formula with the tangent in place of ``grad``. This module mirrors ``postprocess_forward_derivatives`` of
``tools/autograd/load_derivatives.py`` and ``match_differentiability_info`` of ``torchgen/api/autograd.py``.
``forward.py`` prints the lines for them.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from dispatchviz.core.codegen.entries import SpecError
from dispatchviz.core.codegen.model import Derivative, NativeFunction
from dispatchviz.core.schema.function_schema import Argument
from dispatchviz.core.schema.python_signature import python_name

AUTO_LINEAR, AUTO_ELEMENT_WISE = "auto_linear", "auto_element_wise"


@dataclass(frozen=True)
class ForwardDerivative:
    """One formula, as one operator's kernel evaluates it."""

    result: str
    """The result whose tangent the formula gives, or several: ``Q, R``; ``self`` in place."""
    formula: ast.expr
    how: str
    """``auto_linear``, ``auto_element_wise``, or empty."""
    tangents: tuple[str, ...]
    """Arguments whose tangents it needs."""
    primals: tuple[str, ...]
    """Arguments that it needs without their tangents."""
    is_reusing_outplace_formula: bool = False
    required_original_self_value: bool = False

    @property
    def results(self) -> list[str]:
        """The names of its results, one by one."""
        return self.result.split(", ")


def derivatives(function: NativeFunction, derivative: Derivative) -> list[ForwardDerivative]:
    """The formulas that the kernel of ``function`` computes; empty for an operator without a forward formula."""
    found = [_functional(derivative, result, text) for result, text in derivative.forward.items()]
    return [_inplace(function, derivative, each) for each in found] if function.inplace else found


def differentiable_inputs(function: NativeFunction, derivative: Derivative) -> list[Argument]:
    """Tensor arguments that the entry does not exclude, in schema order."""
    tensors = (a for a in function.schema.arguments if a.type in ("Tensor", "Tensor?", "Tensor[]"))
    return [a for a in tensors if a.name not in derivative.non_differentiable]


def _functional(derivative: Derivative, result: str, text: str) -> ForwardDerivative:
    if text == AUTO_LINEAR:
        formula, how = _linear(derivative), AUTO_LINEAR
    elif text == AUTO_ELEMENT_WISE:
        formula, how = _element_wise(derivative), AUTO_ELEMENT_WISE
    else:
        formula, how = _parsed(derivative, text), ""
    names = _names(formula)
    tangents = tuple(name for name in derivative.arguments if f"{name}_t" in names)
    primals = tuple(name for name in derivative.arguments if f"{name}_p" in names)
    return ForwardDerivative(result, formula, how, tangents, primals)


def _parsed(derivative: Derivative, text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        what = f"{derivative.where}: {derivative.function.name}: the forward formula"
        raise SpecError(f"{what} {text!r} is not a Python expression: {error.msg}") from None


def _linear(derivative: Derivative) -> ast.expr:
    """The operator on the tangents. Its overload is known, so this call is not looked up."""
    words = [
        f"{a.name}_t" if a.name in derivative.arguments else python_name(a.name)
        for a in derivative.function.schema.arguments
    ]
    return _parsed(derivative, f"{derivative.function.base}({', '.join(words)})")


def _element_wise(derivative: Derivative) -> ast.expr:
    """The backward formula with the conjugate of the tangent for ``grad``, then conjugated. That equals the conjugate
    transpose because the Jacobian is diagonal. Raise SpecError if there are several inputs.
    """
    if len(derivative.formulas) != 1 or len(derivative.arguments) != 1:
        what = f"{derivative.where}: {derivative.function.name}: {AUTO_ELEMENT_WISE}"
        raise SpecError(f"{what} needs one differentiable input; the inputs are {', '.join(derivative.arguments)}")
    (name,) = derivative.arguments
    formula = _parsed(derivative, next(iter(derivative.formulas.values())))
    return _conj(_Renamed({"grad": _conj(ast.Name(f"{name}_t")), name: ast.Name(f"{name}_p")}).visit(formula))


def _conj(formula: ast.expr) -> ast.expr:
    return ast.Call(ast.Attribute(formula, "conj"), [], [])


def _inplace(function: NativeFunction, derivative: Derivative, given: ForwardDerivative) -> ForwardDerivative:
    exact = derivative.function is function
    formula, primals = given.formula, given.primals
    if not exact and "self_p" in _names(formula):
        formula = _renamed(formula, {"self_p": "original_self_p", "self_t": "original_self_t"})
    if given.result in _names(formula):
        formula = _renamed(formula, {given.result: "self_p"})
        primals = tuple(dict.fromkeys((*primals, "self")))
    return replace(
        given,
        result="self",
        formula=formula,
        primals=primals,
        is_reusing_outplace_formula=not exact,
        required_original_self_value=bool({"original_self_p", "original_self_t"} & _names(formula)),
    )


def _names(formula: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(formula) if isinstance(node, ast.Name)}


def _renamed(formula: ast.expr, names: dict[str, str]) -> ast.expr:
    """A copy of the formula with other names."""
    copy = ast.parse(ast.unparse(formula), mode="eval").body
    renamed: ast.expr = _Renamed({name: ast.Name(new) for name, new in names.items()}).visit(copy)
    return renamed


class _Renamed(ast.NodeTransformer):
    """A transformer that replaces names by expressions."""

    def __init__(self, names: dict[str, ast.expr]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.names.get(node.id, node)
