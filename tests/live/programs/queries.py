"""Questions about registrations, and a kernel that the program takes out of a table."""

import torch

c = torch._C
key = c.DispatchKey
x = torch.ones(2, requires_grad=True)
print(torch.add(x, x))
for operator in ("aten::add.Tensor", "aten::matmul", "aten::sum"):
    print(c._dispatch_dump(operator))
    print(c._dispatch_dump_table(operator))
    print([c._dispatch_has_kernel_for_dispatch_key(operator, each) for each in ("CPU", "AutogradCPU", "Meta")])
    print(c._dispatch_has_computed_kernel_for_dispatch_key(operator, "CPU"))
print(len(c._dispatch_get_registrations_for_dispatch_key("AutogradCPU")))
print(len(c._dispatch_get_registrations_for_dispatch_key("CPU")))
if hasattr(torch.library, "get_kernel"):
    kernel = torch.library.get_kernel("aten::mul.Tensor", "CPU")
    library = torch.library.Library("aten", "IMPL")
    library.impl("mul.Tensor", lambda keys, a, b: kernel.call_boxed(keys, a, b) + 1, "CPU", with_keyset=True)
    print(torch.mul(x, x).tolist())
    library._destroy()
    try:
        torch.library.get_kernel("aten::nothing", "CPU")
    except RuntimeError as error:
        print(str(error).splitlines()[0])
print(torch.mul(x, x).tolist())
