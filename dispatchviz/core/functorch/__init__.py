"""functorch: function transforms as layers of dispatch (``aten/src/ATen/functorch``).

Read ``dynamic_layer.py`` first: how a call reaches the transform on top of the stack and leaves it again. Then
``batched_tensor.py``, ``plumbing.py`` and the batch rules by subject. Registered through ``registrations.py``.
"""
