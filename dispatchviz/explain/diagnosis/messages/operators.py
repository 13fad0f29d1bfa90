"""Messages of the dispatcher: missing kernels, custom operators, modes."""

from __future__ import annotations

from dispatchviz.explain.diagnosis.messages.known_message import KnownMessage

MISSING_KERNEL = "missing kernel"
NO_TENSOR = "no tensor argument"
NO_FAKE_KERNEL = "no fake kernel"
AMBIGUOUS = "ambiguous kernels"

OF_KERNELS = (MISSING_KERNEL, NO_TENSOR, NO_FAKE_KERNEL, AMBIGUOUS)
"""The kinds that ``error_message.py`` explains in more detail, because the message contains the operator's dispatch
table.
"""

OPERATORS = (
    KnownMessage(
        MISSING_KERNEL,
        "Could not run '{operator}' with arguments from the '{key}' backend",
        detail="{operator} has no kernel for {key}.",
        cause="The dispatch table has no kernel for the highest key: no kernel, alias or fallback of this operator "
        "covers that key.",
        fix="Move the arguments to a device or layout that the message lists, or register a kernel for the key.",
        diagnosis="no kernel: backend",
    ),
    KnownMessage(
        NO_TENSOR,
        "There were no tensor arguments to this function (e.g., you passed an empty list of Tensors), but no fallback "
        "function is registered for schema {operator}",
        cause="No argument has a dispatch key, and the thread-local include set is empty, so the call ended at the key "
        "Undefined.",
        fix="Do not call the operator with an empty list.",
        or_says=("There were no tensor arguments to this function",),
    ),
    KnownMessage(
        NO_FAKE_KERNEL,
        "{operator}: attempted to run this operator with Meta tensors, but there was no fake impl or Meta kernel "
        "registered",
        detail="The operator is {operator}.",
        cause="torch.compile, torch.export and the meta device need the shape of the result without computing it, and "
        "the operator does not provide it.",
        fix="Register a fake implementation with torch.library.register_fake.",
        or_says=("{operator}: attempted to run this operator with Meta tensors",),
        diagnosis="no kernel: backend",
    ),
    KnownMessage(
        AMBIGUOUS,
        "{operator} has kernels registered to both {composite} and a backend mapped to AutogradOther",
        detail="The operator is {operator}.",
        cause="Several backends share AutogradOther, so PyTorch cannot choose there between the composite kernel and "
        "the backend's kernel.",
        fix="Run it in inference mode if you need no gradients, or remove one of the two kernels.",
        engine="torch",
    ),
    KnownMessage(
        "no such operator",
        "'_OpNamespace' '{namespace}' object has no attribute '{name}'",
        detail="There is no {namespace}::{name}.",
        cause="No operator of this name is registered. It may be misspelled, or the library that defines it was not "
        "loaded.",
        fix="Import the operator's package, or load its library with torch.ops.load_library().",
    ),
    KnownMessage(
        "already defined",
        "Tried to register an operator ({schema:text}) with the same name and overload name multiple times",
        detail="The operator is {schema}.",
        cause="Each overload can be defined once in a process. A module that is imported twice, or a notebook cell "
        "that runs twice, defines it again.",
        fix="Define it in a module that is imported once, or under another name.",
    ),
    KnownMessage(
        "schema that cannot be read",
        "unknown type specifier. Common valid schema types include",
        cause="A schema uses PyTorch's type names, with their capital letters: Tensor, SymInt, int, float, bool, "
        "Scalar.",
        fix="Correct the type above the arrow in the message.",
        or_says=("Unknown type specifier",),
    ),
    KnownMessage(
        "wrong type of a custom operator",
        "{operator}() Expected a value of type '{expected:text}' for argument '{argument}' but instead found type "
        "'{got:text}'",
        detail="{operator} takes {expected} for {argument}, and got {got}.",
        cause="The operator's schema sets the type of each argument, and nothing is converted.",
        fix="Convert the argument, or define the operator with another type.",
    ),
    KnownMessage(
        "missing argument of a custom operator",
        "{operator}() is missing value for argument '{argument}'",
        detail="{operator} was called without {argument}.",
        cause="The schema has no default for this argument.",
        fix="Pass it, or give it a default in the schema.",
    ),
    KnownMessage(
        "result aliases an input",
        "The output of this custom operator (1) must not also be an input to this custom operator and (2) may not "
        "alias any inputs",
        cause="A custom operator must return new memory. Its schema states that the results alias nothing, and "
        "torch.compile relies on that.",
        fix="Return x.clone(), or write into an argument and name it in mutates_args.",
    ),
    KnownMessage(
        "custom operator without backward",
        "Trying to backward through {operator} but no autograd formula was registered",
        detail="The operator is {operator}.",
        cause="The custom operator has a forward kernel but no derivative.",
        fix="Register one: my_operator.register_autograd(backward, setup_context=setup_context).",
    ),
    KnownMessage(
        "gradients of a custom operator",
        "The backward formula for {operator} returned an incorrect number of gradients (expected {expected:text}, got "
        "{got:n})",
        detail="The formula of {operator} returned {got}, and the operator needs {expected}.",
        cause="A formula must return one value for each argument that was passed, or for each positional argument of "
        "the schema: None for an argument that needs no gradient.",
        fix="Return as many values as the operator has positional arguments, in the same order.",
    ),
    KnownMessage(
        "no handler for the call",
        "Multiple dispatch failed for '{function}'; all __torch_dispatch__ handlers returned NotImplemented",
        detail="The operator is {function}.",
        cause="Every mode and every tensor subclass among the arguments returned NotImplemented.",
        fix="In the handler, call func(*args, **kwargs) for calls that it does not handle.",
    ),
    KnownMessage(
        "no torch function",
        "Multiple dispatch failed for '{function}'; all __torch_function__ handlers returned NotImplemented",
        detail="The function is {function}.",
        cause="Every argument with __torch_function__ returned NotImplemented.",
        fix="Return super().__torch_function__(func, types, args, kwargs) for functions that it does not handle.",
        or_says=("no implementation found for '{function}' on types that implement __torch_function__",),
    ),
)
"""One entry for each message."""
