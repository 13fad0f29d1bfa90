"""Some calls that find no kernel: PyTorch lists the existing ones."""

import torch

calls = (
    lambda x: x._indices(),
    lambda x: x.q_scale(),
    lambda x: x.int_repr(),
    lambda x: torch.ops.aten._nested_tensor_size(x),
    lambda x: torch.ops.aten.dense_dim(x),
    lambda x: torch.ops.aten.sspaddmm.out(x, x, x, out=x),
    lambda x: torch.ops.aten._coalesced_(x, True),
)


def attempt(call, x):
    try:
        print(call(x))
    except (RuntimeError, NotImplementedError) as error:
        print(type(error).__name__, error)


for call in calls:
    attempt(call, torch.ones(2))
    with torch.inference_mode():
        attempt(call, torch.ones(2))
        attempt(call, torch.ones(2, device="meta"))
    with torch._C._AutoDispatchBelowAutograd():
        attempt(call, torch.ones(2))
