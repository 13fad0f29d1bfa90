"""Operators and kernels that are registered while the program is recorded."""

import torch
from graph import walk


@torch.library.custom_op("quiet::scaled", mutates_args=())
def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
    return x * factor


@scaled.register_fake
def _(x, factor):
    return torch.empty_like(x)


scaled.register_autograd(
    lambda ctx, grad: (grad * ctx.factor, None),
    setup_context=lambda ctx, inputs, output: setattr(ctx, "factor", inputs[1]),
)
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = scaled(x, 3.0)
walk(y)
y.sum().backward()
print(y, x.grad, scaled(x.to("meta"), 2.0), torch.ops.quiet.scaled.default)
scaled.register_kernel("cpu")(lambda x, factor: x * factor + 100)
print(scaled(x, 3.0))


@scaled.register_vmap
def _(info, in_dims, x, factor):
    return scaled(x, factor), in_dims[0]


print(torch.vmap(lambda v: scaled(v, 2.0))(torch.ones(2, 3)))


@torch.library.custom_op("quiet::fill", mutates_args={"x"})
def fill(x: torch.Tensor, value: float) -> None:
    x.fill_(value)


z = torch.zeros(2)
print(fill(z, 4.0), z, z._version)
library = torch.library.Library("quiet_low", "DEF")
library.define("twice(Tensor x) -> Tensor")
try:
    print(torch.ops.quiet_low.twice(x))
except Exception as error:
    print(type(error), error)
library.impl("twice", lambda x: x * 2, "CPU")
print(torch.ops.quiet_low.twice(x))


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        with torch._C._AutoDispatchBelowAutograd():
            return torch.ops.quiet_low.twice(x)

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


library.impl("twice", Twice.apply, "Autograd")
y = torch.ops.quiet_low.twice(x)
walk(y)
print(y, torch.autograd.grad(y.sum(), x))
library.define("plain(Tensor x) -> Tensor")
library.impl("plain", torch.library.fallthrough_kernel, "Autograd")
library.impl("plain", lambda x: x.clone(), "CompositeExplicitAutograd")
print(torch.ops.quiet_low.plain(x))
library.define("composite(Tensor x, Tensor? y=None) -> Tensor", tags=torch.Tag.pt2_compliant_tag)
library.impl("composite", lambda x, y=None: x.sin() if y is None else x.sin() + y, "CompositeImplicitAutograd")
print(torch.ops.quiet_low.composite(x), torch.ops.quiet_low.composite(x, y=x).grad_fn)
with_keys = torch.library.Library("quiet_low", "FRAGMENT")
with_keys.define("keyed(Tensor x) -> Tensor")
with_keys.impl("keyed", lambda keys, x: print(keys) or x * 5, "CPU", with_keyset=True)
print(torch.ops.quiet_low.keyed(x.detach()))
try:
    library.impl("twice", lambda x: x, "CPU")
except Exception as error:
    print(type(error), error)
try:
    library.define("twice(Tensor x) -> Tensor")
except Exception as error:
    print(type(error), str(error).split("registered at")[0])
library._destroy()
try:
    print(torch.ops.quiet_low.twice(x))
except Exception as error:
    print(type(error), error)
library = torch.library.Library("quiet_low", "DEF")
library.define("twice(Tensor x) -> Tensor")
library.impl("twice", lambda x: x * 20, "CPU")
print(torch._C._dispatch_has_kernel("quiet_low::twice"), [m for m in dir(torch.ops.quiet_low) if m[0] != "_"])
