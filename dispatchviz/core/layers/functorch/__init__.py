"""functorch: function transforms as layers of dispatch (``aten/src/ATen/functorch``).

Read ``dynamic_layer.py`` first: it shows how a call reaches the transform on top of the stack and leaves it again.
Then, for ``vmap``, read ``batched_tensor.py``, ``plumbing.py``, the batch rules by subject and ``loop_fallback.py``;
for ``grad``, ``tensor_wrapper.py`` and ``ad_interpreters.py``. ``functorch_registrations.py`` registers all of them.
"""
