"""functorch: function transforms as layers of dispatch (``aten/src/ATen/functorch``).

Read ``dynamic_layer.py`` first: how a call reaches the transform on top of the stack and leaves it again. Then, for
``vmap``, ``batched_tensor.py``, ``plumbing.py``, the batch rules by subject and ``loop_fallback.py``; for ``grad``,
``tensor_wrapper.py`` and ``ad_interpreters.py``. Registered through ``functorch_registrations.py``.
"""
