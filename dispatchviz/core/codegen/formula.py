"""Formulas of derivatives.yaml: the values that they need saved, and the Python code that a Node's ``apply`` runs.

A formula is a Python expression over ``grad``, the forward arguments and ``result``. Tensors that it names become saved
variables. Other arguments, ``self.sym_sizes()`` and the like become saved attributes (``self_sym_sizes``). Calls,
methods and arithmetic on tensors become calls of operators. The argument types decide the overload, as the C++ compiler
decides it for PyTorch's formulas. Names that are not operators are functions of
``autograd/formulas/functions_manual.py``.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from dispatchviz.core.codegen import native
from dispatchviz.core.codegen.entries import SpecError, meant
from dispatchviz.core.codegen.model import Derivative, NativeFunction, Specification
from dispatchviz.core.schema.python_signature import python_name, python_type

PROPERTIES = {
    "sym_sizes": ("Size", "{}._size"),
    "sym_strides": ("Size", "strides_or_error({})"),
    "sym_sizes_opt": ("Size", "(0,) if {0} is None else {0}._size"),
    "sym_numel": ("int", "numel({}._size)"),
    "scalar_type": ("DType", "{}._dtype"),
    "options": ("TensorOptions", "options_of({})"),
    "geometry": ("Geometry", "geometry_of({})"),
    "info": ("TypeAndSize", "type_and_size({})"),
    "dim": ("int", "len({}._size)"),
    "is_complex": ("bool", "{}._dtype.is_complex"),
}
"""Methods of an argument whose result is saved as an attribute: the type, and the expression that computes it in the
forward.
"""

HIDDEN = ("scalar_type", "options", "geometry", "info", "is_complex")
"""Attributes that PyTorch does not show as ``_saved_*``."""

_BINARY = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.BitOr: "bitwise_or",
    ast.BitAnd: "bitwise_and",
}
_COMPARED = {ast.Lt: "lt", ast.Gt: "gt", ast.LtE: "le", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
_MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


@dataclass(frozen=True)
class Saved:
    """A value that a Node saves. ``value`` is the expression of the forward kernel that gives it."""

    name: str
    """The name, ``other`` or ``self_sym_sizes``."""
    kind: str
    """``Tensor`` for a saved variable, else the Python type of the attribute."""
    value: str
    hidden: bool = False
    is_output: bool = False

    @property
    def is_variable(self) -> bool:
        """True if it is a tensor that is kept as a SavedVariable, or a list of such tensors."""
        return self.kind == "Tensor" or self.is_list

    @property
    def is_list(self) -> bool:
        """True if it is a list of tensors, each of which is saved by itself."""
        return self.kind == "Tensor?[]"


@dataclass
class Needs:
    """The values that the formulas of one Node need, by name, and the formulas (by their argument names) that use
    each.
    """

    saved: dict[str, Saved] = field(default_factory=dict)
    users: dict[str, set[tuple[str, ...]]] = field(default_factory=dict)
    edges: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """For each value in ``wrap_opt_if``: the edges. The value is saved if at least one of them leads to a Node."""

    def add(self, what: Saved, user: tuple[str, ...]) -> None:
        """Add one use of a value."""
        self.saved[what.name] = what
        self.users.setdefault(what.name, set()).add(user)


@dataclass(frozen=True)
class Code:
    """An expression and its type: ``Tensor``, ``Scalar``, ``int``, ``Size``, ..."""

    text: str
    kind: str
    calls: bool = False
    """True if evaluating it calls something. If two such operands meet, C++ evaluates the right one first."""


class Translator:
    """The translation of one derivative's formulas. ``needs`` fills up on the way."""

    def __init__(self, spec: Specification, derivative: Derivative) -> None:
        self.spec = spec
        self.derivative = derivative
        self.needs = Needs()
        self.manual: set[str] = set()
        self._kinds = {a.name: a.type for a in derivative.function.schema.arguments}
        self._user: tuple[str, ...] = ()
        self.lines: list[str] = []
        """Assignments to put before the formula that was translated last."""

    def translate(self, names: tuple[str, ...], formula: str) -> str:
        """Return the Python code of one formula; ``lines`` come before it. Raise SpecError if the formula cannot be
        understood.
        """
        self._user, self.lines = names, []
        try:
            tree = ast.parse(formula, mode="eval").body
        except SyntaxError as error:
            raise self._error(f"{formula!r} is not a Python expression: {error.msg}") from None
        return self._code(tree).text

    def _error(self, what: str) -> SpecError:
        return SpecError(f"{self.derivative.where}: {self.derivative.function.name}, {', '.join(self._user)}: {what}")

    def _code(self, node: ast.expr) -> Code:
        match node:
            case ast.Constant(value=value):
                kind = "int" if type(value) is int else "float" if type(value) is float else "const"
                return Code(f'"{value}"' if type(value) is str else repr(value), kind)
            case ast.Name(id=name):
                return self._name(name)
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                flags = all(isinstance(part, ast.Constant) and isinstance(part.value, bool) for part in parts)
                text = "".join(f"{self._code(part).text}, " for part in parts).strip()
                return Code(f"({text})", "bool[]" if flags else "Size")
            case ast.UnaryOp(op=ast.USub(), operand=value):
                return self._negative(self._code(value))
            case ast.UnaryOp(op=ast.Not(), operand=value):
                return Code(f"not {self._code(value).text}", "bool")
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                first, second = self._evaluated([left, right])
                return self._binary(_BINARY[type(op)], first, second, ast.unparse(node))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                first, second = self._evaluated([left, right])
                return self._compared(first, op, second, ast.unparse(node))
            case ast.IfExp(test=test, body=body, orelse=other):
                return self._chosen(self._code(test), body, other)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=place)):
                return Code(f"{self._name(name).text}[{place!r}]", "Tensor" if name == "grads" else "bool")
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="sym_size"),
                args=[ast.Call(func=ast.Attribute(value=ast.Name(id=dims), attr="back"))],
            ):  # the dimension is known only at run time, so the tensor itself is saved
                return Code(f"{self._name(name).text}._size[{self._name(dims).text}[-1]]", "int")
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="sym_size"), args=[place]) if (
                name in self._kinds or name in self.derivative.function.result_names
            ):
                return self._length(name, ast.literal_eval(place))
            case ast.Call(func=ast.Attribute(value=ast.Name(id="grad"), attr="scalar_type"), args=[]):
                return Code("grad._dtype", "DType")
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attribute), args=[]) if (
                name in self._kinds and attribute in PROPERTIES
            ):
                return self._property(name, attribute)
            case ast.Call(func=ast.Attribute(value=value, attr="conj"), args=[]):
                return self._conjugated(self._code(value))
            case ast.Call(func=ast.Attribute(value=value, attr="contiguous"), args=[]):
                self.manual.add("in_format")
                return Code(f"in_format({self._code(value).text})", "Tensor", True)
            case ast.Call(func=ast.Attribute(value=value, attr=name), args=args):
                return self._method(name, value, args, ast.unparse(node))
            case ast.Call(
                func=ast.Name(id="wrap_opt_if"), args=[ast.Name(id=name), ast.BoolOp(op=ast.Or(), values=asked)]
            ):
                return self._saved_if(name, asked)
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._call(name, self._evaluated(args), ast.unparse(node))
        raise self._error(f"cannot translate {ast.unparse(node)!r}")

    def _saved_if(self, name: str, asked: Sequence[ast.expr]) -> Code:
        """Translate ``wrap_opt_if(name, grad_input_mask[i] or ...)``: an argument that only some of the gradients
        need.
        """
        places = [place.slice for place in asked if isinstance(place, ast.Subscript)]
        self.needs.edges[name] = tuple(self.derivative.arguments.index(self._user[ast.literal_eval(p)]) for p in places)
        return self._name(name)

    def _name(self, name: str) -> Code:
        if name == "grad":
            return Code("grad", "Tensor")
        if name == "grads":
            return Code("grads", "Tensor[]")
        if name == "grad_input_mask":
            return self._mask()
        if name in self.derivative.function.result_names:
            self.needs.add(Saved(name, "Tensor", name, is_output=True), self._user)
            return Code(name, "Tensor")
        if name not in self._kinds:
            raise self._error(f"unknown name {name!r}; a formula may use {', '.join(self._known())}")
        kind = self._kinds[name].rstrip("?")
        kind = "Size" if kind.startswith(("int[", "SymInt[")) else "int" if kind == "SymInt" else kind
        is_tensor = kind in ("Tensor", "Tensor?[]")
        saved = kind if is_tensor else python_type(self._kinds[name])
        hidden = self._kinds[name] in ("bool?", "ScalarType")  # PyTorch has no getter for these
        self.needs.add(Saved(name, saved, python_name(name), hidden), self._user)
        return Code(local(name) if is_tensor else f"self.{python_name(name)}", kind)

    def _known(self) -> tuple[str, ...]:
        return ("grad", "grads", "grad_input_mask", *self.derivative.function.result_names, *self._kinds)

    def _mask(self) -> Code:
        """Return a tuple with, for each argument whose gradient this formula computes, whether that gradient is
        wanted.
        """
        places = [self.derivative.arguments.index(name) for name in self._user]
        return Code(f"({', '.join(f'self.task_should_compute_output({place})' for place in places)})", "bool[]")

    def _property(self, name: str, attribute: str) -> Code:
        kind, value = PROPERTIES[attribute]
        saved = Saved(f"{name}_{attribute}", kind, value.format(python_name(name)), attribute in HIDDEN)
        self.needs.add(saved, self._user)
        return Code(f"self.{saved.name}", kind)

    def _length(self, name: str, place: int) -> Code:
        """Return the length of one dimension."""
        word = f"minus_{-place}" if place < 0 else str(place)
        is_output = name in self.derivative.function.result_names
        value = f"{python_name(name)}._size[{place}]"
        self.needs.add(Saved(f"{name}_sym_argsize_{word}", "int", value, is_output=is_output), self._user)
        return Code(f"self.{name}_sym_argsize_{word}", "int")

    def _negative(self, value: Code) -> Code:
        return (
            self._operator("neg", [value], f"-{value.text}")
            if value.kind == "Tensor"
            else Code(f"-{value.text}", value.kind)
        )

    def _conjugated(self, value: Code) -> Code:
        """Translate ``Tensor::conj``, which calls nothing for a real tensor, and ``Scalar::conj``."""
        if value.kind == "Scalar":
            self.manual.add("conjugated_number")
            return Code(f"conjugated_number({value.text})", "Scalar")
        self.manual.add("conjugated")
        return Code(f"conjugated({value.text})", "Tensor", True)

    def _binary(self, name: str, left: Code, right: Code, source: str) -> Code:
        """Translate an arithmetic operation. Numbers are computed directly; the left operand may be a number, as in C++
        (``TensorOperators.h``).
        """
        if "Tensor" not in (left.kind, right.kind):
            kind = "int" if left.kind == right.kind == "int" and name != "div" else "Scalar"
            return Code(f"({source_of(name, left, right)})", kind)
        if left.kind == "Tensor":
            return self._operator(name, [left, right], source)
        if name in ("add", "mul"):
            return self._operator(name, [right, left], source)
        self.manual.add(f"number_{name}")
        return Code(f"number_{name}({left.text}, {right.text})", "Tensor", True)

    def _compared(self, left: Code, op: ast.cmpop, right: Code, source: str) -> Code:
        if type(op) in (ast.Is, ast.IsNot) or "Tensor" not in (left.kind, right.kind):
            words = {ast.Is: "is", ast.IsNot: "is not", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.Gt: ">"}
            return Code(f"({left.text} {words[type(op)]} {right.text})", "bool")
        name = _COMPARED[type(op)]
        if left.kind == "Tensor":
            return self._operator(name, [left, right], source)
        return self._operator(_MIRRORED[name], [right, left], source)

    def _chosen(self, test: Code, body: ast.expr, other: ast.expr) -> Code:
        before = len(self.lines)
        first, second = self._code(body), self._code(other)
        if len(self.lines) != before:
            raise self._error("a branch of a conditional formula has two calls side by side: name a function")
        return Code(f"({first.text} if {test.text} else {second.text})", first.kind, first.calls or second.calls)

    def _evaluated(self, nodes: Sequence[ast.expr]) -> list[Code]:
        """Return the operands or arguments in their order. C++ evaluates them from right to left."""
        found: list[Code] = []
        for node in reversed(nodes):
            before = len(self.lines)
            code = self._code(node)
            if code.calls or len(self.lines) > before:
                found = [self._assigned(right, before + place) for place, right in enumerate(found)]
            found.insert(0, code)
        return found

    def _assigned(self, code: Code, place: int) -> Code:
        """Return a variable in place of a call, assigned before the line with number ``place``."""
        if not code.calls:
            return code
        name = f"term_{len(self.lines)}"
        self.lines.insert(min(place, len(self.lines)), f"{name} = {code.text}")
        return Code(name, code.kind)

    def _method(self, name: str, receiver: ast.expr, nodes: Sequence[ast.expr], source: str) -> Code:
        """Translate a method call. C++ evaluates the tensor before the arguments."""
        value = self._code(receiver)
        before = len(self.lines)
        args = self._evaluated(nodes)
        if len(self.lines) > before:
            value = self._assigned(value, before)
        return self._operator(name, [value, *args], source)

    def _call(self, name: str, args: list[Code], source: str) -> Code:
        name = name.removesuffix("_symint")
        if name in self.spec.by_base:
            if name in self._kinds:
                self._name(name)  # NB: as in PyTorch, real(grad) keeps the argument real
            return self._operator(name, args, source)
        if name not in native.formula_functions():
            near = meant(name, [*native.formula_functions(), *self.spec.by_base])
            raise self._error(f"{name} is neither an operator nor a function of autograd/formulas{near}")
        self.manual.add(name)
        return Code(f"{name}({', '.join(arg.text for arg in args)})", "Tensor", True)

    def _may_be_undefined(self, function: NativeFunction) -> bool:
        """Return whether the operator accepts a tensor that the Node may not have."""
        return any(argument.type == "Tensor?" for argument in function.schema.arguments)

    def _operator(self, name: str, args: list[Code], source: str) -> Code:
        for function in overloads(self.spec, name):
            if accepts(function, [arg.kind for arg in args]):
                words = ", ".join(arg.text for arg in args)
                if self._may_be_undefined(function):
                    self.manual.add("call_of_node")
                    return Code(f"call_of_node(ops.{function.identifier}, {words})", "Tensor", True)
                return Code(f"ops.{function.identifier}.call({words})", "Tensor", True)
        raise self._error(f"no operator {name} takes the arguments of {source!r}")


_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def source_of(name: str, left: Code, right: Code) -> str:
    """The source of arithmetic on numbers, as Python writes it."""
    return f"{left.text} {_SIGNS[name]} {right.text}"


def local(name: str) -> str:
    """The local variable of an unpacked tensor: ``self_``, ``other``."""
    return "self_" if name == "self" else python_name(name)


def overloads(spec: Specification, base: str) -> list[NativeFunction]:
    """The overloads that C++ code calling ``base`` may mean: all except the out= ones."""
    found = [function for function in spec.by_base.get(base, ()) if not function.out_arguments]
    return sorted(found, key=lambda function: function.name != "to.dtype")  # C++ has a ``to(ScalarType)`` of its own


_FITS = {
    "Tensor": ("Tensor",),
    "Tensor?[]": ("Tensor?[]",),
    "Scalar": ("Scalar", "int", "float"),
    "float": ("float", "int"),
    "int": ("int",),
    "SymInt": ("int",),
    "Size": ("Size",),
    "ScalarType": ("DType", "ScalarType"),
    "bool": ("bool", "const"),
    "str": ("str", "const"),
    "bool[]": ("bool[]",),
    **{kind: (kind,) for kind in ("Layout", "Device", "MemoryFormat")},
}
"""For each schema type of a parameter, the kinds of argument that it accepts."""


def accepts(function: NativeFunction, kinds: Sequence[str]) -> bool:
    """Return whether a call with arguments of the given kinds means this overload."""
    parameters = function.schema.arguments
    if len(kinds) > len(parameters) or any(
        p.default is None and not p.type.endswith("?") for p in parameters[len(kinds) :]
    ):
        return False
    for parameter, kind in zip(parameters, kinds, strict=False):
        wanted = parameter.type.rstrip("?")
        wanted = "Size" if wanted.startswith(("int[", "SymInt[")) else wanted
        wanted = "bool[]" if wanted.startswith("bool[") else wanted
        if kind not in _FITS.get(wanted, ()):
            return False
    return True
