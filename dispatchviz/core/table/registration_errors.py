"""PyTorch's errors for refused registrations (``ATen/core/library.cpp``, ``ATen/core/dispatch/Dispatcher.cpp``).

The texts are templates, in which ``{block}`` is the C++ macro of the kind of library. ``library.py`` decides when each
is raised.

NB: in PyTorch, the texts of internal assertions have the absolute path of the machine that built it. Here they have the
path in its source tree.
"""

from __future__ import annotations

ERROR_LOCATION = "(Error occurred while processing {block} block at {where})"
"""The end of most texts."""

_ASSERTION = '{} INTERNAL ASSERT FAILED at "aten/src/ATen/core/library.cpp":{}, please report a bug to PyTorch. '

KEY_OF_DEFINER = _ASSERTION.format("!dispatch_key_.has_value()", 108)
NO_KEY_FOR_FALLBACK = _ASSERTION.format("dispatch_key.has_value()", 293)
WILDCARD_DEF = "bad optional access"
"""The text for a wildcard DEF. It is an accident of PyTorch's, but a stable one."""

WILDCARD_FRAGMENT = (
    "{block}: cannot define {block} with the wildcard namespace _ (every {block} defines operators for a distinct "
    "namespace!) Did you mean to use TORCH_LIBRARY_IMPL instead?  "
)
SECOND_DEF = (
    "Only a single TORCH_LIBRARY can be used to register the namespace {namespace}; please put all of your definitions "
    "in a single TORCH_LIBRARY block.  If you were trying to specify implementations, consider using "
    "TORCH_LIBRARY_IMPL (which can be duplicated).  If you really intended to define operators for a single namespace "
    "in a distributed way, you can use TORCH_LIBRARY_FRAGMENT to explicitly indicate this.  Previous registration of "
    "TORCH_LIBRARY was registered at {previous}; latest registration was registered at {where}"
)
DEF_IN_IMPL = (
    'def("{name}"): Cannot define an operator inside of a {block} block.  All def()s should be placed in the (unique) '
    "TORCH_LIBRARY block for their namespace.  "
)
NAMESPACE_OF_DEF = (
    "Explicitly provided namespace ({provided}) in schema string does not match namespace of enclosing {block} block "
    "({namespace}).  Move this definition to the (unique) TORCH_LIBRARY block corresponding to this namespace (and "
    "consider deleting the namespace from your schema string.)  "
)
DEFINED_TWICE = (
    "Tried to register an operator ({schema}) with the same name and overload name multiple times. Each overload's "
    "schema should only be registered with a single call to def(). Duplicate registration: registered at {where}. "
    "Original registration: {original}"
)
NAMESPACE_OF_IMPL = (
    'impl("{name}", ...): Explicitly provided namespace ({provided}) in operator name does not match namespace of '
    "enclosing {block} block ({namespace}).  Move this definition to the {block} block corresponding to this namespace "
    "(and consider deleting the namespace from your schema string.)  "
)
KEY_OF_IMPL = (
    'impl("{name}", ...): Explicitly provided dispatch key ({provided}) is inconsistent with the dispatch key of the '
    "enclosing {block} block ({key}).  Please declare a separate {block} block for this dispatch key and move your "
    "impl() there.  "
)
FALLBACK_OUTSIDE_IMPL = (
    "fallback(...): Cannot define an operator inside of a {block} block.  Did you mean to call this function inside a "
    "TORCH_LIBRARY_IMPL block?  "
)
FALLBACK_IN_NAMESPACE = (
    "fallback(...): Fallback functions which apply to only a single namespace (you specified {namespace}) are not "
    "supported.  If you intended to apply this fallback function globally, please define a separate block:\n\n"
    "    TORCH_LIBRARY_IMPL(_, {key}, m) {{ m.fallback(...); }}\n\n"
)
SECOND_FALLBACK = (
    "Tried to register multiple backend fallbacks for the same dispatch key {key}; previous registration {previous}, "
    "new registration {new}"
)
NO_SCHEMA_TO_INFER = (
    'def("{name}"): Full schema string was not specified, and we couldn\'t infer schema either.  Please explicitly '
    "provide a schema string.  "
)
SCHEMA_MISMATCH = (
    "Inferred operator schema for a C++ kernel function doesn't match the expected function schema.\n"
    "  operator: {name}\n"
    "  expected schema: {expected}\n"
    "    {expected_debug}\n"
    "  inferred schema: {inferred}\n"
    "    {inferred_debug}\n"
    "  reason: {reason}"
)
SIGNATURE_MISMATCH = (
    "\nMismatch in kernel C++ signatures\n"
    "  operator: {operator}\n"
    "    {operator_debug}\n"
    "  kernel 1: {first.name}\n"
    "    dispatch key: {first_key}\n"
    "    {first.debug}\n"
    "  kernel 2: {name}\n"
    "    dispatch key: {key}\n"
    "    {debug}\n"
)
OVERRIDDEN = (
    "Warning only once for all operators,  other operators may also be overridden.\n"
    "  Overriding a previously registered kernel for the same operator and the same dispatch key\n"
    "  operator: {operator}\n"
    "    {operator_debug}\n"
    "  dispatch key: {key}\n"
    "  previous kernel: {previous}\n"
    "       new kernel: {new}"
)
"""A warning, not a refusal."""

OVERRIDDEN_AT = "aten/src/ATen/core/dispatch/OperatorEntry.cpp:208"
CATCH_ALL = "(catch all)"
"""The text printed as the key of a catch-all kernel."""

NO_DEBUG = "no debug info"
