"""Expressions about ``torch._C``, evaluated on PyTorch's and on the model's; results are compared as text.

``C`` is ``torch._C``, ``K`` and ``S`` its DispatchKey and DispatchKeySet, ``x`` a tensor, ``lib`` a library of the
namespace ``q`` with the operators ``q::foo(Tensor x) -> Tensor`` (typed kernel for CPU) and ``q::bar.o``, and a kernel
for ``q::dangling``; ``h`` is the handle of ``q::foo``.
"""

from __future__ import annotations

import copy
import pickle
import re
import warnings
from typing import Any

KEYS = """
    K.CPU | str(K.CPU) | K(2) | str(K(2)) | K(2).name | K.CPU.value | int(K.CPU) | K.CPU == 49 | K.CPU == 'CPU' |
    hash(K.CPU) | K(300) | K(70000) | K(-1) | K('x') | K('CPU') | K(K.CPU) | K(value=3) | K() | K(1.0) | K(True) |
    list(K.__members__) | K.__doc__ | K.Undefined | K(0) | K(47) | K(48) | K(65) | K(64) | K.EndOfDenseBackends |
    K(49) == K.CPU | K(49) is K.CPU | K.CPU != K.CUDA | K.CPU == None | isinstance(K.CPU, int) | K.CPU.__index__() |
    K.CPU in [1, K.CPU] | {K.CPU: 1}[K(49)] | f'{K.CPU}' | K.CPU.__getstate__() | copy.copy(K.CPU) |
    [K(i) for i in range(160)] | [C._dispatch_key_name(K(i)) for i in range(160)] | hasattr(K, 'FPGA')
"""
SETS = """
    S() | S(K.CPU) | S('CPU') | S(49) | S('nope') | S(None) | S(key=K.CPU) | S(K(47)).raw_repr() | str(S(K.CPU)) |
    S(K(48)).raw_repr() | S(K.Autograd).raw_repr() | S(K.CPU).__or__(K.CPU) | S(K.CPU).__or__(S(K.CUDA)) |
    S(K.CPU) & K.CPU | S(K.CPU) - K.CPU | S(K.CPU) == K.CPU | S(K.CPU) == S('CPU') | S(K.CPU) != S('CPU') |
    S(K.CPU) == None | S(K.CPU) != 3 | S(K.CPU).has('CPU') | S(K.CPU).has(49) | S(K.CPU).has('nope') |
    S(K.CPU).has(None) | S(K.CPU).has(K.Autograd) | S(K.CPU).has('Undefined') | S(K.CPU).add('CUDA').raw_repr() |
    S(K.CPU).add(S(K.CPU)) | S(K.CPU).remove('CPU').raw_repr() | S(K.CPU).remove(k=K.CPU) | bool(S.from_raw_repr(0)) |
    S.from_raw_repr(-1) | S.from_raw_repr(2**64) | S.from_raw_repr('x') | S.from_raw_repr(1.5) |
    S.from_raw_repr(True).raw_repr() | S.from_raw_repr() | S(K.CPU).raw_repr(1) | S(K.CPU).highestPriorityTypeId() |
    S.from_raw_repr(0x10000).highestPriorityTypeId() | S.from_raw_repr(1).highestPriorityTypeId() |
    S.from_raw_repr(1 << 62).highestPriorityTypeId() | S.from_raw_repr(1 << 62) | S.__hash__ |
    (S.from_raw_repr(0x1000010001) - S.from_raw_repr(0x10001)).raw_repr() | copy.copy(S(K.CUDA))
"""
FUNCTIONS = """
    C._dispatch_key_name('CPU') | C._dispatch_key_name(49) | C._dispatch_key_parse('nope') |
    C._dispatch_key_parse('') | C._dispatch_key_parse('CatchAll') | C._parse_dispatch_key('nope') |
    C._parse_dispatch_key('CPU') | C._parse_dispatch_key(K.CPU) |
    [C._dispatch_key_for_device(d) for d in 'cpu cuda ipu xpu hip ve fpga maia'.split()] |
    [C._dispatch_key_for_device(d) for d in 'xla lazy vulkan mps meta hpu mtia privateuseone'.split()] |
    C._dispatch_key_for_device('nope') | C._dispatch_key_for_device('cuda:0') | C._dispatch_key_for_device('') |
    C._dispatch_key_for_device('opengl') | C._functionality_to_backend_keys('Dense') |
    C._functionality_to_backend_keys('CPU') | C._functionality_to_backend_keys('Autograd') |
    C._functionality_to_backend_keys(K.AutogradFunctionality) | C._to_functionality_key('AutogradCPU') |
    [C._dispatch_is_alias_key(K(i)) for i in range(160)] |
    [C._dispatch_is_included_in_alias(K(i), K(j)) for i in range(156) for j in range(150, 156)] |
    [C._dispatch_get_backend_keyset_from_autograd(K(i)).raw_repr() for i in range(156)] |
    [C._dispatch_keyset_full_after(K(i)).raw_repr() for i in range(156)] | C._dispatch_keyset_full() |
    [C._dispatch_has_backend_fallback(K(i)) for i in range(156)] | C._dispatch_num_backends() |
    C._dispatch_autogradother_backends | C._after_autograd_keyset.raw_repr() | C._dispatch_key_set(1) |
    C._after_ADInplaceOrView_keyset.raw_repr() | C._additional_keys_to_prop_for_wrapper_tensors |
    C._dispatch_key_set(x) | C._dispatch_keys(x) | C._dispatch_keys(1) | C._dispatch_isTensorSubclassLike(x) |
    C._dispatch_pystub('aten::add', '') | C._dispatch_keyset_to_string(S(K.CPU)) | C._dispatch_keyset_to_string('x') |
    C._dispatch_dump(5) | C._dispatch_dump() | C._dispatch_isTensorSubclassLike(1) | C._dispatch_pystub(1, 2)
"""
OPERATORS = """
    C._dispatch_dump('nope') | C._dispatch_dump('') | C._dispatch_dump('q::foo') | C._dispatch_dump(' q:: foo') |
    C._dispatch_dump('q::bar') | C._dispatch_dump('q::bar.o') | C._dispatch_dump('q::dangling') |
    C._dispatch_dump('q::foo.default') | C._dispatch_dump('q::foo() -> ()') | C._dispatch_dump_table('q::foo') |
    C._dispatch_check_invariants('nope') | C._dispatch_has_kernel('q::foo') | C._dispatch_has_kernel('q::nofoo') |
    C._dispatch_has_kernel('q::dangling') |
    [C._dispatch_has_kernel_for_dispatch_key('q::foo', K(i)) for i in range(156)] |
    C._dispatch_has_kernel_for_dispatch_key('q::foo', 'nope') |
    C._dispatch_has_kernel_for_dispatch_key('q::no', 'CPU') | C._dispatch_has_kernel_for_dispatch_key('q::foo') |
    C._dispatch_kernel_for_dispatch_key_is_fallthrough('q::foo', 'CPU') |
    C._dispatch_kernel_for_dispatch_key_is_fallthrough('q::foo', 'CUDA') |
    C._dispatch_has_computed_kernel_for_dispatch_key('q::foo', 'CPU') |
    C._dispatch_has_computed_kernel_for_dispatch_key('q::foo', 'Autograd') |
    C._dispatch_has_computed_kernel_for_dispatch_key('q::foo', 'Undefined') |
    C._dispatch_has_computed_kernel_for_dispatch_key('q::foo', 'Dense') |
    C._dispatch_has_computed_kernel_for_dispatch_key('q::foo', K.CPU) |
    C._dispatch_has_kernel_for_any_dispatch_key('q::foo', S(K.CPU)) |
    C._dispatch_has_kernel_for_any_dispatch_key('q::foo', S(K.CUDA)) |
    C._dispatch_has_kernel_for_any_dispatch_key('q::no', S(K.CUDA)) |
    C._dispatch_get_computed_kernel_for_dispatch_key('q::foo', 'CPU') |
    C._dispatch_get_computed_kernel_for_dispatch_key('q::foo', 'CUDA') |
    C._dispatch_get_computed_kernel_for_dispatch_key('q::foo', 'Autograd') |
    C._dispatch_get_computed_kernel_for_dispatch_key('q::foo', 'Meta') |
    C._dispatch_get_computed_kernel_for_dispatch_key('q::foo', 'CPU').call_boxed(S(K.CPU), x) |
    C._dispatch_get_computed_kernel_for_dispatch_key('q::foo', 'CPU').call_boxed(S(K.CPU)) |
    C._dispatch_get_computed_kernel_for_dispatch_key('q::foo', 'CPU').op_handle.debug() | h.schema() | h.debug() |
    h.redispatch_boxed(S(K.CPU), x) | h.redispatch_boxed(S(K.CUDA), x) | h.redispatch_boxed(x) |
    C._dispatch_call_boxed(h, x) | C._dispatch_call_boxed(h) | C._dispatch_call_boxed(h, x=x) |
    C._dispatch_call_boxed(h, x, x) | C._dispatch_call_boxed(h, y=1) | C._dispatch_find_schema_or_throw('q::no', '') |
    C._dispatch_find_schema_or_throw('q::no', 'x') | C._dispatch_find_schema_or_throw('q::dangling', '') |
    C._dispatch_find_dangling_impls() | C._dispatch_get_registrations_for_dispatch_key('nope') |
    C._dispatch_get_registrations_for_dispatch_key('VE') | C._dispatch_print_registrations_for_dispatch_key('VE') |
    'q::dangling' in C._dispatch_get_all_op_names() | 'q::foo' in C._dispatch_get_registrations_for_dispatch_key() |
    C._dispatch_set_report_error_callback(h, lambda key: 1 / 0) | h.redispatch_boxed(S(K.CUDA), x) |
    C._dispatch_set_report_error_callback(h, lambda key: None) | h.redispatch_boxed(S(K.CUDA), x) |
    C._dispatch_set_report_error_callback(h, None) | h.redispatch_boxed(S.from_raw_repr(1 << 17), x)
"""
LIBRARIES = """
    lib.def_('a(Tensor x) -> Tensor', 'X') | lib.def_() | lib.define('b.o(Tensor x) -> Tensor') | lib.impl_t_t(1) |
    lib.define('q::c(Tensor x) -> Tensor') | lib.define('d() -> ()', tags=3) | lib.impl('foo', 'Nope', len) |
    lib.impl('foo', '', len) | lib.fallback('CPU', len) | lib.fallback_fallthrough('Nope') | lib.reset(1) |
    lib.def_name_t_t('b.o') | lib.def_name_t_t('r::b') | lib.def_name_t_t('') | lib.def_schema_t_t('n') |
    lib.def_schema_t_t('s1(int n) -> Tensor') | lib.def_schema_t_t('s2(Tensor x) -> (Tensor, Tensor)') |
    lib.def_schema_t_t('s3(SymInt[2] n) -> Tensor') | lib.def_schema_t_t('s4(Tensor x, *, SymInt y=1) -> Tensor') |
    lib.def_schema_t_t('s5(Tensor(a!) x) -> Tensor(a!)', alias='CONSERVATIVE') | C._dispatch_dump('q::s5') |
    lib.def_schema_t_t('s6(float[3]? n) -> Tensor') | lib.def_schema_t_t('s7(Tensor x) -> Tensor[]') |
    aten.impl_t_t('add.Tensor', 'VE') | aten.impl_t_t('sum', 'VE') | aten.impl_t_t('view', 'VE') |
    aten.impl_t_t('randn', 'VE') | aten.impl_t_t('add_.Tensor', 'VE') | aten.impl_t_t('select_copy.int_out', 'VE') |
    aten.impl_t_t('max.dim', 'VE') | aten.impl_t_t('index.Tensor', 'VE') | aten.impl_t_t('add.out', 'VE') |
    C._DispatchModule() | C._SafeKernelFunction() | C._DispatchOperatorHandle() | C._dispatch_library('X', 'a', '') |
    C._dispatch_library('DEF', 'a', 'Nope') | C._dispatch_library('DEF', 1, '') | C._dispatch_library() |
    C._dispatch_library('DEF', 'a', '', 'f.py', 'x') | C._ExcludeDispatchKeyGuard(1) | C._ExcludeDispatchKeyGuard() |
    C._IncludeDispatchKeyGuard(S(K.CPU)) | C._ForceDispatchKeyGuard(S(K.CPU))
"""
SCHEMAS = """
    foo | foo( | foo() | foo() -> | foo() -> ( | foo() -> () x | foo(Tensor) -> Tensor | foo(Tensor x -> Tensor |
    foo(Tensor x,) -> Tensor | foo(Tensor x) Tensor | foo(Tenso x) -> Tensor | foo(Tensor x) -> tensor |
    foo(int x=) -> () | foo(int x=a) -> () | foo(float x=1) -> () | foo(bool x=true) -> () | foo(Tensor x=1) -> () |
    foo(int[] x=1) -> () | foo(int[2] x=1) -> () | foo(int[] x=[1,) -> () | foo(int[x] a) -> () |
    foo(Tensor(a x) -> () | foo(Tensor() x) -> () | foo(*, *, int a) -> () | foo(..., int a) -> () |
    foo(int x=1, int y) -> () | foo.(Tensor x) -> () | foo.default(Tensor x) -> () | foo.a.b() -> () |
    a::b::c() -> () | foo(Dict(int) x) -> () | foo(Tensor x) -> (Tensor | foo(Tensor x) -> Tensor, Tensor |
    foo(Device d="cuda") -> () | foo(ScalarType d=float) -> () | foo(Any x=1) -> () | foo(ScalarType d=zzz) -> () |
    foo(Tensor[] x=[]) -> () | foo(number x) -> () | foo(t x) -> () | foo(1 x) -> () | foo(complex x=1j) -> () |
    foo(Tensor if) -> () | foo(int x=--1) -> () | foo(int x=- 1) -> () | foo(Future x) -> () | foo(int[2][] x) -> () |
    foo(Tensor?(a) x) -> () | foo(int?? x) -> () | foo(DeviceIndex x) -> () | foo(None x) -> () |
    foo(Tensor x); -> () | foo(str x="a") -> () | foo(Device x=cpu) -> () | foo(Stream x=None) -> () | a/b | a$ | 1a |
    foo(Tensor x) -> (..., Tensor) | foo(Tensor x) -> (Tensor, ...) | foo(int[2]? x=[1]) -> () |
    foo(Layout x=long) -> ()
"""


CLASSES = ("DispatchKeySet", "_DispatchModule", "_SafeKernelFunction", "_DispatchOperatorHandle")
"""The classes whose methods have signatures."""


def all_expressions() -> list[str]:
    """All expressions in the order of evaluation; some affect later ones."""
    return [text for group in (KEYS, SETS, FUNCTIONS, OPERATORS, LIBRARIES) for text in expressions(group)]


def expressions(text: str) -> list[str]:
    """The expressions of a text, which are separated by bars between spaces."""
    return [" ".join(part.split()) for part in re.split(r"\s\|\s", text)]


class TorchC:
    """One ``torch._C``, PyTorch's or the model's, with the names that expressions use."""

    def __init__(self, torch: Any) -> None:
        C = torch._C
        lib = C._dispatch_library("FRAGMENT", "q", "")
        lib.def_("foo(Tensor x) -> Tensor").impl_t_t("foo", "CPU").def_("bar.o(Tensor x) -> Tensor")
        lib.impl_t_t("dangling", "VE")
        self.names = {"C": C, "K": C.DispatchKey, "S": C.DispatchKeySet, "lib": lib, "x": torch.ones(1)}
        self.names |= {"h": C._dispatch_find_schema_or_throw("q::foo", ""), "copy": copy, "pickle": pickle}
        self.names["aten"] = C._dispatch_library("IMPL", "aten", "")

    def answer(self, expression: str) -> str:
        """The text of the value, or the type and text of the error."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = eval(expression, self.names)
        except Exception as error:
            return f"{type(error).__name__}: {shown(str(error))}"
        return shown(repr(value))

    def schema(self, text: str) -> str:
        """The parsed schema, or the error."""
        return self.answer(f"(lib.define({text!r}), C._dispatch_dump('q::foo'))[0]")

    def close(self) -> None:
        """Undo the registrations."""
        self.names["lib"].reset()
        self.names["aten"].reset()


def shown(text: str) -> str:
    """A text without build folders and addresses of objects."""
    return re.sub(r"0x[0-9a-f]{8,}", "0x", text.replace("/__w/pytorch/pytorch/", ""))
