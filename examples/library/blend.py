"""A small library: three operators, with kernels for the CPU and for a device of its own, named ``toy``.

``blend::mix`` has everything that PyTorch asks of an operator: kernels, a derivative, and a fake kernel for the meta
device. ``blend::same`` has no derivative: the fallthrough removes the autograd layer from its calls. ``blend::fill_``
writes in place. ``test_blend.py`` tests the paths that their calls take.
"""

import torch

DEVICE = "toy"
torch.utils.rename_privateuse1_backend(DEVICE)

library = torch.library.Library("blend", "DEF")
library.define("mix(Tensor x, Tensor y, float share) -> Tensor")
library.define("same(Tensor x, Tensor y) -> Tensor")


# -- mix: a share of x and the rest of y


def mix_cpu(x, y, share):
    return x * share + y * (1 - share)


def mix_toy(x, y, share):
    return OnToy(mix_cpu(x.held, y.held, share))


def mix_fake(x, y, share):
    return torch.empty_like(x)


def save_share(ctx, inputs, output):
    _, _, ctx.share = inputs


def mix_backward(ctx, gradient):
    return gradient * ctx.share, gradient * (1 - ctx.share), None


library.impl("mix", mix_cpu, "CPU")
library.impl("mix", mix_toy, "PrivateUse1")
torch.library.register_fake("blend::mix", mix_fake, lib=library)
torch.library.register_autograd("blend::mix", mix_backward, setup_context=save_share, lib=library)


# -- same: how many elements are equal


library.impl("same", lambda x, y: (x == y).sum(), "CPU")
library.impl("same", torch.library.fallthrough_kernel, "Autograd")


# -- fill_: write a number into x


@torch.library.custom_op("blend::fill_", mutates_args={"x"}, device_types="cpu")
def fill_(x: torch.Tensor, value: float) -> None:
    x.fill_(value)


# -- the device


class OnToy(torch.Tensor):
    """A tensor on the device, which holds its numbers on the CPU.

    A device of C++ brings tensors of its own. Here a subclass has the device's keys, and passes each call on to the
    kernel for PrivateUse1.
    """

    @staticmethod
    def __new__(cls, held):
        made = torch.Tensor._make_wrapper_subclass(cls, held.shape, dtype=held.dtype, device=f"{DEVICE}:0")
        made.held = held
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        with torch._C._DisableTorchDispatch():
            return func(*args, **(kwargs or {}))
