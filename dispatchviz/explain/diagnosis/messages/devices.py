"""Messages about devices and about CUDA."""

from __future__ import annotations

from dispatchviz.explain.diagnosis.messages.known_message import KnownMessage

DEVICES = (
    KnownMessage(
        "two devices",
        "Expected all tensors to be on the same device, but found at least two devices, {first} and {second}!",
        detail="One tensor is on {first}, another on {second}.",
        cause="A kernel reads the memory of one device. A tensor that is made in forward is on the CPU unless device= "
        "says otherwise, and a tensor that is no parameter and no buffer stays behind when the model moves.",
        fix="Move the tensors with x = x.to(device) (it returns the copy), make new ones with device=x.device, and "
        "register constants of a module as buffers.",
        or_says=(
            (
                "Expected all tensors to be on the same device, but got {argument} is on {first}, different from other "
                "tensors on {second} "
            ),
            "Expected object of device type {first} but got device type {second} for argument",
            "Tensor on device {first} is not on the expected device {second}!",
        ),
        diagnosis="devices: arguments differ",
    ),
    KnownMessage(
        "device of indices",
        "indices should be either on {cpu} or on the same device as the indexed tensor ({device})",
        detail="The indexed tensor is on {device}.",
        cause="The kernel that indexes reads the indices on the device of the tensor, or on the CPU.",
        fix="Move the indices: x[index.to(x.device)].",
        diagnosis="devices: arguments differ",
    ),
    KnownMessage(
        "numpy of another device",
        "can't convert {device} device type tensor to numpy",
        detail="The tensor is on {device}.",
        cause="NumPy reads the memory of the CPU.",
        fix="Copy it first: x.detach().cpu().numpy().",
    ),
    KnownMessage(
        "data of a meta tensor",
        "Cannot copy out of meta tensor; no data!",
        cause="A tensor on the meta device has a shape and no data. A model is on it if it was made under "
        "torch.device('meta') or init_empty_weights and its weights were never loaded.",
        fix="Use model.to_empty(device=...) and load the weights, or load_state_dict(..., assign=True).",
        diagnosis="devices: a tensor without data",
    ),
    KnownMessage(
        "device of a generator",
        "Expected a '{expected}' device type for generator but found '{found}'",
        detail="The tensor is made on {expected}, the generator is of {found}.",
        cause="Random numbers are drawn on the device that the tensor is made on, by a generator of that device.",
        fix="Create the generator there: torch.Generator(device=...).",
    ),
    KnownMessage(
        "no such device",
        "device type at start of device string: {name}",
        detail="There is no device type {name}.",
        cause="The name of a device is one of PyTorch's device types; a number may follow after a colon: cuda:0.",
        fix="Write cuda for a GPU of NVIDIA or AMD, mps for one of Apple, else cpu.",
    ),
    KnownMessage(
        "built without CUDA",
        "Torch not compiled with CUDA enabled",
        cause="This PyTorch is a build for the CPU: it has no kernels for CUDA, whatever GPU the machine has.",
        fix="Install a build with CUDA (see pytorch.org), or write device = 'cuda' if torch.cuda.is_available() else "
        "'cpu'.",
        engine="torch",
        diagnosis="devices: no CUDA",
    ),
    KnownMessage(
        "no GPU",
        "No CUDA GPUs are available",
        cause="PyTorch was built with CUDA and sees no GPU: there is none, CUDA_VISIBLE_DEVICES hides it, or a "
        "container was started without it.",
        fix="Look at nvidia-smi and at CUDA_VISIBLE_DEVICES; start a container with --gpus all.",
        or_says=("Found no NVIDIA driver on your system",),
        diagnosis="devices: no CUDA",
    ),
    KnownMessage(
        "no such GPU",
        "CUDA error: invalid device ordinal",
        cause="The number after cuda: must be smaller than the number of GPUs that this process sees.",
        fix="Print torch.cuda.device_count(); CUDA_VISIBLE_DEVICES changes which GPUs there are and counts them from "
        "0.",
    ),
    KnownMessage(
        "CUDA assertion",
        "CUDA error: device-side assert triggered",
        cause="A kernel on the GPU found a value that it cannot take: usually a class number or an index out of range. "
        "The GPU works later than the program, so the traceback may show another line.",
        fix="Run the same program on the CPU, or with CUDA_LAUNCH_BLOCKING=1: the message then names the operator; "
        "look at the indices and targets.",
    ),
    KnownMessage(
        "CUDA memory",
        "CUDA out of memory. Tried to allocate",
        cause="The GPU has no room for one more tensor. Saved tensors of the forward pass take most of it; a loss that "
        "is kept (total += loss) keeps its whole graph.",
        fix="Make the batch smaller, keep loss.item() instead of loss, evaluate under torch.no_grad(), and use "
        "checkpoint or mixed precision.",
    ),
    KnownMessage(
        "CUDA after fork",
        "Cannot re-initialize CUDA in forked subprocess",
        cause="A process that has used CUDA was forked, and the child cannot use its parent's CUDA: usually a "
        "DataLoader's worker makes tensors on the GPU.",
        fix="Keep datasets on the CPU and move batches in the main process, or use the start method spawn.",
    ),
    KnownMessage(
        "file of a GPU",
        "Attempting to deserialize object on a {device} device but",
        detail="The tensors were saved on {device}.",
        cause="torch.load puts each tensor on the device that it was saved from, and this machine does not have it.",
        fix="Pass map_location='cpu' to torch.load.",
        or_says=("Attempting to deserialize object on {device} device {number:n} but",),
    ),
)
"""One entry for each message."""
