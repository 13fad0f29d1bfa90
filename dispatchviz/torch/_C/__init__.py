"""``torch._C``: keys and key sets, guards, libraries, and queries about the dispatcher.

Functions here have the signatures, messages and error types of PyTorch's bindings.
"""

from __future__ import annotations

from dispatchviz.core.autograd.function.python_function import FunctionBase as _FunctionBase  # noqa: F401
from dispatchviz.core.bindings.python_keys import DispatchKey as DispatchKey
from dispatchviz.core.bindings.python_keys import DispatchKeySet as DispatchKeySet
from dispatchviz.core.native.linalg.matrix_checks import LinAlgError as _LinAlgError  # noqa: F401
from dispatchviz.torch._C import _autograd as _autograd
from dispatchviz.torch._C import _fft as _fft
from dispatchviz.torch._C import _functions as _functions
from dispatchviz.torch._C import _functorch as _functorch
from dispatchviz.torch._C import _linalg as _linalg
from dispatchviz.torch._C import _nn as _nn
from dispatchviz.torch._C import _special as _special
from dispatchviz.torch._C._engine import ImperativeEngine as _ImperativeEngine  # noqa: F401
from dispatchviz.torch._C._engine import _current_autograd_node as _current_autograd_node
from dispatchviz.torch._C._engine import _current_graph_task_id as _current_graph_task_id
from dispatchviz.torch._C._engine import _increment_version as _increment_version
from dispatchviz.torch._C._engine import _is_grad_layout_enforcement_enabled as _is_grad_layout_enforcement_enabled
from dispatchviz.torch._C._engine import _set_grad_layout_enforcement_enabled as _set_grad_layout_enforcement_enabled
from dispatchviz.torch._C._engine import _will_engine_execute_node as _will_engine_execute_node
from dispatchviz.torch._C.devices import _dispatch_key_for_device as _dispatch_key_for_device
from dispatchviz.torch._C.devices import _get_privateuse1_backend_name as _get_privateuse1_backend_name
from dispatchviz.torch._C.dispatch_module import (
    _dispatch_clear_leaked_python_filenames as _dispatch_clear_leaked_python_filenames,
)
from dispatchviz.torch._C.dispatch_module import _dispatch_library as _dispatch_library
from dispatchviz.torch._C.dispatch_module import _DispatchModule as _DispatchModule
from dispatchviz.torch._C.forward_ad import _enter_dual_level as _enter_dual_level
from dispatchviz.torch._C.forward_ad import _exit_dual_level as _exit_dual_level
from dispatchviz.torch._C.forward_ad import _is_fwd_grad_enabled as _is_fwd_grad_enabled
from dispatchviz.torch._C.forward_ad import _set_fwd_grad_enabled as _set_fwd_grad_enabled
from dispatchviz.torch._C.guards import ExcludeDispatchKeyGuard as ExcludeDispatchKeyGuard
from dispatchviz.torch._C.guards import _AutoDispatchBelowADInplaceOrView as _AutoDispatchBelowADInplaceOrView
from dispatchviz.torch._C.guards import _AutoDispatchBelowAutograd as _AutoDispatchBelowAutograd
from dispatchviz.torch._C.guards import _DisablePythonDispatcher as _DisablePythonDispatcher
from dispatchviz.torch._C.guards import _DisableTorchDispatch as _DisableTorchDispatch
from dispatchviz.torch._C.guards import _dispatch_tls_is_dispatch_key_excluded as _dispatch_tls_is_dispatch_key_excluded
from dispatchviz.torch._C.guards import _dispatch_tls_is_dispatch_key_included as _dispatch_tls_is_dispatch_key_included
from dispatchviz.torch._C.guards import _dispatch_tls_local_exclude_set as _dispatch_tls_local_exclude_set
from dispatchviz.torch._C.guards import _dispatch_tls_local_include_set as _dispatch_tls_local_include_set
from dispatchviz.torch._C.guards import (
    _dispatch_tls_set_dispatch_key_excluded as _dispatch_tls_set_dispatch_key_excluded,
)
from dispatchviz.torch._C.guards import (
    _dispatch_tls_set_dispatch_key_included as _dispatch_tls_set_dispatch_key_included,
)
from dispatchviz.torch._C.guards import _EnablePreDispatch as _EnablePreDispatch
from dispatchviz.torch._C.guards import _EnablePythonDispatcher as _EnablePythonDispatcher
from dispatchviz.torch._C.guards import _ExcludeDispatchKeyGuard as _ExcludeDispatchKeyGuard
from dispatchviz.torch._C.guards import _ForceDispatchKeyGuard as _ForceDispatchKeyGuard
from dispatchviz.torch._C.guards import _IncludeDispatchKeyGuard as _IncludeDispatchKeyGuard
from dispatchviz.torch._C.guards import _meta_in_tls_dispatch_include as _meta_in_tls_dispatch_include
from dispatchviz.torch._C.guards import _PreserveDispatchKeyGuard as _PreserveDispatchKeyGuard
from dispatchviz.torch._C.guards import _set_meta_in_tls_dispatch_include as _set_meta_in_tls_dispatch_include
from dispatchviz.torch._C.guards import _SetExcludeDispatchKeyGuard as _SetExcludeDispatchKeyGuard
from dispatchviz.torch._C.introspection import (
    _additional_keys_to_prop_for_wrapper_tensors as _additional_keys_to_prop_for_wrapper_tensors,
)
from dispatchviz.torch._C.introspection import _after_ADInplaceOrView_keyset as _after_ADInplaceOrView_keyset
from dispatchviz.torch._C.introspection import _after_autograd_keyset as _after_autograd_keyset
from dispatchviz.torch._C.introspection import _dispatch_autogradother_backends as _dispatch_autogradother_backends
from dispatchviz.torch._C.introspection import _dispatch_check_all_invariants as _dispatch_check_all_invariants
from dispatchviz.torch._C.introspection import _dispatch_check_invariants as _dispatch_check_invariants
from dispatchviz.torch._C.introspection import _dispatch_dump as _dispatch_dump
from dispatchviz.torch._C.introspection import _dispatch_dump_table as _dispatch_dump_table
from dispatchviz.torch._C.introspection import _dispatch_find_dangling_impls as _dispatch_find_dangling_impls
from dispatchviz.torch._C.introspection import _dispatch_get_all_op_names as _dispatch_get_all_op_names
from dispatchviz.torch._C.introspection import (
    _dispatch_get_backend_keyset_from_autograd as _dispatch_get_backend_keyset_from_autograd,
)
from dispatchviz.torch._C.introspection import (
    _dispatch_get_registrations_for_dispatch_key as _dispatch_get_registrations_for_dispatch_key,
)
from dispatchviz.torch._C.introspection import _dispatch_has_backend_fallback as _dispatch_has_backend_fallback
from dispatchviz.torch._C.introspection import (
    _dispatch_has_computed_kernel_for_dispatch_key as _dispatch_has_computed_kernel_for_dispatch_key,
)
from dispatchviz.torch._C.introspection import _dispatch_has_kernel as _dispatch_has_kernel
from dispatchviz.torch._C.introspection import (
    _dispatch_has_kernel_for_any_dispatch_key as _dispatch_has_kernel_for_any_dispatch_key,
)
from dispatchviz.torch._C.introspection import (
    _dispatch_has_kernel_for_dispatch_key as _dispatch_has_kernel_for_dispatch_key,
)
from dispatchviz.torch._C.introspection import _dispatch_is_alias_key as _dispatch_is_alias_key
from dispatchviz.torch._C.introspection import _dispatch_is_included_in_alias as _dispatch_is_included_in_alias
from dispatchviz.torch._C.introspection import _dispatch_isTensorSubclassLike as _dispatch_isTensorSubclassLike
from dispatchviz.torch._C.introspection import (
    _dispatch_kernel_for_dispatch_key_is_fallthrough as _dispatch_kernel_for_dispatch_key_is_fallthrough,
)
from dispatchviz.torch._C.introspection import _dispatch_key_name as _dispatch_key_name
from dispatchviz.torch._C.introspection import _dispatch_key_parse as _dispatch_key_parse
from dispatchviz.torch._C.introspection import _dispatch_key_set as _dispatch_key_set
from dispatchviz.torch._C.introspection import _dispatch_keys as _dispatch_keys
from dispatchviz.torch._C.introspection import _dispatch_keyset_full as _dispatch_keyset_full
from dispatchviz.torch._C.introspection import _dispatch_keyset_full_after as _dispatch_keyset_full_after
from dispatchviz.torch._C.introspection import _dispatch_keyset_to_string as _dispatch_keyset_to_string
from dispatchviz.torch._C.introspection import _dispatch_num_backends as _dispatch_num_backends
from dispatchviz.torch._C.introspection import (
    _dispatch_print_registrations_for_dispatch_key as _dispatch_print_registrations_for_dispatch_key,
)
from dispatchviz.torch._C.introspection import _dispatch_pystub as _dispatch_pystub
from dispatchviz.torch._C.introspection import _functionality_to_backend_keys as _functionality_to_backend_keys
from dispatchviz.torch._C.introspection import _get_autograd_fallback_mode as _get_autograd_fallback_mode
from dispatchviz.torch._C.introspection import _log_api_usage_once as _log_api_usage_once
from dispatchviz.torch._C.introspection import _parse_dispatch_key as _parse_dispatch_key
from dispatchviz.torch._C.introspection import _set_autograd_fallback_mode as _set_autograd_fallback_mode
from dispatchviz.torch._C.introspection import _set_conj as _set_conj
from dispatchviz.torch._C.introspection import _set_neg as _set_neg
from dispatchviz.torch._C.introspection import _to_functionality_key as _to_functionality_key
from dispatchviz.torch._C.operator_handle import _dispatch_call_boxed as _dispatch_call_boxed
from dispatchviz.torch._C.operator_handle import _dispatch_find_schema_or_throw as _dispatch_find_schema_or_throw
from dispatchviz.torch._C.operator_handle import (
    _dispatch_get_computed_kernel_for_dispatch_key as _dispatch_get_computed_kernel_for_dispatch_key,
)
from dispatchviz.torch._C.operator_handle import (
    _dispatch_set_report_error_callback as _dispatch_set_report_error_callback,
)
from dispatchviz.torch._C.operator_handle import _SafeKernelFunction as _SafeKernelFunction
from dispatchviz.torch.amp.autocast_mode import is_autocast_available as _is_autocast_available  # noqa: F401
from dispatchviz.torch.autocast_functions import is_any_autocast_enabled as _is_any_autocast_enabled  # noqa: F401
from dispatchviz.torch.function_schema import FunctionSchema as FunctionSchema
from dispatchviz.torch.function_schema import parse_schema as parse_schema
from dispatchviz.torch.functionalization import (
    _functionalization_reapply_views_tls as _functionalization_reapply_views_tls,
)
from dispatchviz.torch.operator_base import OperatorHandle as _DispatchOperatorHandle  # noqa: F401
from dispatchviz.torch.python_keys import DisableTorchFunction as DisableTorchFunction
from dispatchviz.torch.python_keys import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from dispatchviz.torch.python_keys import _disabled_torch_dispatch_impl as _disabled_torch_dispatch_impl
from dispatchviz.torch.python_keys import _disabled_torch_function_impl as _disabled_torch_function_impl
from dispatchviz.torch.python_keys import _get_dispatch_stack_at as _get_dispatch_stack_at
from dispatchviz.torch.python_keys import _len_torch_dispatch_stack as _len_torch_dispatch_stack
from dispatchviz.torch.python_keys import _pop_torch_dispatch_stack as _pop_torch_dispatch_stack
from dispatchviz.torch.python_keys import _push_on_torch_dispatch_stack as _push_on_torch_dispatch_stack
from dispatchviz.torch.python_keys import _RestorePythonTLSSnapshot as _RestorePythonTLSSnapshot
from dispatchviz.torch.python_keys import _TensorMeta as _TensorMeta
from dispatchviz.torch.tags import Tag as Tag
