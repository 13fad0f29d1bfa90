"""The usual causes of a missing kernel, by the kind of the key without a kernel, and the fixes."""

from __future__ import annotations

from dispatchviz.explain.diagnosis.messages.error_parser import Message
from dispatchviz.explain.keys.key_text import is_autograd

Causes = tuple[list[str], list[str]]
"""The usual causes, and the fixes."""

LAYOUTS = ("SparseCsr", "Sparse", "NestedTensor", "Mkldnn")
"""The beginnings of the keys of layouts."""


def causes(message: Message) -> Causes:
    """Return the usual causes of an error, and the fixes."""
    special = {"no tensors": _no_tensors, "meta": _meta, "ambiguous": _ambiguous}.get(message.kind)
    return special(message) if special else _no_kernel(message)


def _no_kernel(message: Message) -> Causes:
    key = message.key.removesuffix("TensorId")
    if key.startswith("Quantized"):
        return _quantized(message)
    if key.startswith(LAYOUTS):
        return _layout(message, key)
    if is_autograd(key):
        return _autograd(message, key)
    if key in ("CUDA", "HIP", "XPU", "HPU", "MPS"):
        return _device(message, key)
    if key == "CPU":
        return _cpu(message)
    return _backend(message, key)


def _quantized(message: Message) -> Causes:
    return (
        [
            (
                "An argument is a quantized tensor (quint8, qint8, ...), and the operator has no kernel for "
                "quantized tensors. Often a whole model was quantized, and one of its layers has no quantized form."
            ),
        ],
        [
            "Pass an ordinary tensor: call x.dequantize() first. In a module use torch.ao.quantization.DeQuantStub.",
            (
                "Do not quantize that layer, or use the quantized form of the operator (torch.ops.quantized, "
                "torch.ao.nn.quantized) where there is one."
            ),
            f"dispatchviz keys {message.key} --operators lists the operators that have one.",
        ],
    )


def _layout(message: Message, key: str) -> Causes:
    layout = next(name for name in LAYOUTS if key.startswith(name))
    names = {"Sparse": "sparse (COO)", "SparseCsr": "sparse (CSR, CSC, BSR or BSC)", "NestedTensor": "a nested tensor"}
    return (
        [
            (
                f"An argument is {names.get(layout, 'laid out for MKL-DNN')}, and the operator has no kernel for that "
                "layout."
            )
        ],
        [
            "Make it dense before the call: x.to_dense()"
            + (
                " (a nested tensor: x.to_padded_tensor(0.0), or one call for each part)." if "Nested" in layout else "."
            ),
            f"dispatchviz keys {message.key} --operators lists the operators that have a kernel for it.",
        ],
    )


def _autograd(message: Message, key: str) -> Causes:
    backend = key.removeprefix("Autograd")
    return (
        [
            (
                f"The backend {backend} has a kernel of its own for {message.operator}. That disables the operator's "
                f"composite kernel at {key}, and neither a derivative nor a fallback is registered for Autograd."
            )
        ],
        [
            f"Register a kernel for {key} too, which records the derivative or just redispatches.",
            (
                "Or remove the backend's kernel and register the operators that the composite kernel calls. The "
                "composite kernel then does the rest, including the derivative. For aten::to, for example, register "
                "aten::_to_copy."
            ),
            f"dispatchviz why {message.operator} {key}",
        ],
    )


def _device(message: Message, key: str) -> Causes:
    listed = {*message.keys, *(line.key for line in message.lines)}
    extension = not message.operator.startswith("aten::")
    why = []
    if key not in listed and extension:
        package = message.operator.partition("::")[0]
        why.append(
            f"{message.operator} comes from the package of the namespace {package}, which was built without {key}. "
            "Usually its release or build does not match that of PyTorch."
        )
    elif message.operator.startswith(("aten::empty", "aten::_copy_from")):
        why.append(f"This PyTorch was built without {key} (a CPU-only build), so it cannot create a tensor on {key}.")
    else:
        why.append(f"Either the operator has no kernel for {key} at all, or this PyTorch was built without {key}.")
    todo = [f"Check whether the build has {key}: python -m torch.utils.collect_env"]
    if extension:
        todo.append("Install the build of the extension that matches this PyTorch.")
    if key == "MPS":
        todo.append("PYTORCH_ENABLE_MPS_FALLBACK=1 in the environment lets such operators run on the CPU.")
    todo.append("Move the arguments to a device in the list above: x.cpu().")
    return why, todo


def _cpu(message: Message) -> Causes:
    devices = [key for key in ("CUDA", "MPS", "XPU", "HPU") if key in message.keys]
    known = f"only {', '.join(devices)}" if devices else "no kernel for the CPU"
    return (
        [f"The arguments are on the CPU, and the operator has {known}."],
        [f"Move the arguments: x.to('{devices[0].lower()}')." if devices else "Register a kernel for CPU."],
    )


def _backend(message: Message, key: str) -> Causes:
    return (
        [
            (
                f"The backend {key} has no kernel for {message.operator}, or the module that registers it was not "
                "imported."
            )
        ],
        [
            "Import the backend's package before the call.",
            (
                f'If you wrote the backend: TORCH_LIBRARY_IMPL({_namespace(message)}, {key}, m) {{ m.impl("...", '
                "...); }, or a boxed CPU fallback for all operators (at::native::cpu_fallback)."
            ),
            f"dispatchviz why {message.operator} {key} shows what would fill that entry.",
        ],
    )


def _namespace(message: Message) -> str:
    return message.operator.partition("::")[0]


def _no_tensors(message: Message) -> Causes:
    return (
        [
            (
                "The call passed an empty list of tensors, as in torch.cat([]), often because a filter removed "
                "everything."
            ),
            "The operator is a custom operator that takes no tensors and has kernels for backends only.",
        ],
        [
            "Do not call it with an empty list.",
            (
                "If you wrote the operator: register a kernel that needs no key, with CompositeExplicitAutograd or "
                "CompositeImplicitAutograd, or a kernel for BackendSelect that chooses the backend."
            ),
        ],
    )


def _meta(message: Message) -> Causes:
    return (
        [
            (
                "torch.compile, torch.export, FakeTensorMode or device='meta' needs the shape of the result without "
                "computing it, and the operator has no fake implementation. This is common for custom operators."
            )
        ],
        [
            (
                f"If you wrote the operator: @torch.library.register_fake('{message.operator}'), a function that "
                "returns an empty tensor of the right shape and dtype."
            ),
            "If somebody else wrote the operator: check that the module with its fake implementation was imported.",
        ],
    )


def _ambiguous(message: Message) -> Causes:
    return (
        [
            (
                "A backend without an autograd key of its own (FPGA, Vulkan, Metal, MKL-DNN, ...) registered a "
                "kernel for an operator that has a composite kernel."
            )
        ],
        [
            (
                "If you need no gradients, use torch.inference_mode(). The autograd keys, including this one, are "
                "then not in the key set, and the backend's kernel runs."
            ),
            (
                "If you wrote the operator or the backend: remove one of the two kernels, or register the operators "
                "that the composite kernel calls instead."
            ),
            f"dispatchviz why {message.operator} AutogradOther",
        ],
    )
