"""Fake impls: the function of an operator for tensors without data (``torch/_library/fake_impl.py``).

Here they are the operators' Meta kernels, because the model has no FakeTensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.torch._C import _dispatch_has_kernel_for_dispatch_key as has_kernel


class FakeKernel(NamedTuple):
    """One registered function."""

    function: Callable[..., Any]
    source: str
    """The FILE:LINE of the registration."""


class FakeImplHolder:
    """The fake impls of one operator, oldest first. The newest one runs."""

    def __init__(self, qualname: str) -> None:
        self.qualname = qualname
        self.kernels: list[FakeKernel] = []

    @property
    def kernel(self) -> FakeKernel | None:
        """The newest fake impl, or None."""
        return self.kernels[-1] if self.kernels else None

    def check_first(self) -> None:
        """Raise RuntimeError with PyTorch's message if the operator has an impl for meta tensors already."""
        start = f"register_fake(...): the operator {self.qualname} already has"
        if self.kernel is not None:
            raise RuntimeError(f"{start} a fake impl registered at {self.kernel.source}.")
        if has_kernel(self.qualname, DispatchKey.Meta):
            raise RuntimeError(
                f"{start} a DispatchKey::Meta implementation via a pre-existing torch.library or TORCH_LIBRARY "
                "registration. Please either remove that registration or don't call register_fake."
            )
        if has_kernel(self.qualname, DispatchKey.CompositeImplicitAutograd):
            raise RuntimeError(
                f"{start} an implementation for this device type via a pre-existing registration to "
                "DispatchKey::CompositeImplicitAutograd.CompositeImplicitAutograd operators do not need a fake impl; "
                "instead, the operator will decompose into its constituents and those can have fake impls defined on "
                "them."
            )

    def add(self, function: Callable[..., Any], source: str) -> FakeKernel:
        """Add a function as the newest fake impl."""
        kernel = FakeKernel(function, source)
        self.kernels.append(kernel)
        return kernel

    def meta_kernel(self) -> Callable[..., Any]:
        """Return a kernel that runs the newest fake impl at the time of the call."""

        def meta_kernel(*args: Any, **kwargs: Any) -> Any:
            kernel = self.kernel
            if kernel is None:
                raise AssertionError("fake_impl_holder.kernel must not be None")
            outer = _context.getter
            _context.getter = lambda: self._no_context(kernel.source)
            try:
                return kernel.function(*args, **kwargs)
            finally:
                _context.getter = outer

        return meta_kernel

    def _no_context(self, source: str) -> NoReturn:
        raise RuntimeError(
            f"{self.qualname} ({source}): You're trying to run this operator with meta Tensors (as opposed to "
            "FakeTensors), but this operator may return an output Tensor with data-dependent shape. Meta Tensors don't "
            "support operators with outputs that have data-dependent shapes but FakeTensors do. If your operator does "
            "not return an output with data-dependent shape, make sure the FakeTensor and/or meta kernel does not call "
            "torch.library.get_ctx(). Otherwise, please use FakeTensors."
        )


class _Context:
    """The context that ``get_ctx`` returns."""

    getter: Callable[[], Any] = staticmethod(lambda: None)


_context = _Context()
_holders: dict[str, FakeImplHolder] = {}


def fake_impl_of(qualname: str) -> FakeImplHolder:
    """Return the holder of an operator, created at the first query."""
    return _holders.setdefault(qualname, FakeImplHolder(qualname))


def get_ctx() -> Any:
    """Return the context of the running fake impl, or None outside of one. Using it is an error: there are no
    FakeTensors.
    """
    return _context.getter()
