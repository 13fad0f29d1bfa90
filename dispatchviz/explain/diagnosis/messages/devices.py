"""Messages about devices and CUDA."""

from __future__ import annotations

from dispatchviz.explain.diagnosis.messages.known_message import KnownMessage

DEVICES = (
    KnownMessage(
        "two devices",
        "Expected all tensors to be on the same device, but found at least two devices, {first} and {second}!",
        detail="One tensor is on {first}; another is on {second}.",
        cause="A kernel reads the memory of one device. A tensor that you create in forward() is on the CPU unless you "
        "pass device=. A tensor that is neither a parameter nor a buffer stays behind when the model moves.",
        fix="Move the tensors with x = x.to(device), which returns the copy. Create new ones with device=x.device, and "
        "register the constants of a module as buffers.",
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
        cause="The indices must be on the device of the tensor, or on the CPU.",
        fix="Move the indices: x[index.to(x.device)].",
        diagnosis="devices: arguments differ",
    ),
    KnownMessage(
        "numpy of another device",
        "can't convert {device} device type tensor to numpy",
        detail="The tensor is on {device}.",
        cause="NumPy can read only CPU memory.",
        fix="Copy the tensor to the CPU first: x.detach().cpu().numpy().",
    ),
    KnownMessage(
        "data of a meta tensor",
        "Cannot copy out of meta tensor; no data!",
        cause="A tensor on the meta device has a shape but no data. A model is on that device if it was created under "
        "torch.device('meta') or init_empty_weights and its weights were never loaded.",
        fix="Use model.to_empty(device=...) and load the weights, or load_state_dict(..., assign=True).",
        diagnosis="devices: a tensor without data",
    ),
    KnownMessage(
        "device of a generator",
        "Expected a '{expected}' device type for generator but found '{found}'",
        detail="The tensor is created on {expected}; the generator is for {found}.",
        cause="Random numbers are generated on the device of the new tensor, so the generator must be for that device.",
        fix="Create the generator for that device: torch.Generator(device=...).",
    ),
    KnownMessage(
        "no such device",
        "device type at start of device string: {name}",
        detail="There is no device type {name}.",
        cause="A device name is one of PyTorch's device types, optionally with a number after a colon: cuda:0.",
        fix="Write cuda for an NVIDIA or AMD GPU, mps for an Apple GPU, and cpu otherwise.",
    ),
    KnownMessage(
        "built without CUDA",
        "Torch not compiled with CUDA enabled",
        cause="This PyTorch is a CPU build: it has no CUDA kernels, whichever GPU the machine has.",
        fix="Install a build with CUDA (see pytorch.org), or write device = 'cuda' if torch.cuda.is_available() else "
        "'cpu'.",
        engine="torch",
        diagnosis="devices: no CUDA",
    ),
    KnownMessage(
        "no GPU",
        "No CUDA GPUs are available",
        cause="PyTorch was built with CUDA but sees no GPU: the machine has none, CUDA_VISIBLE_DEVICES hides it, or "
        "the container was started without it.",
        fix="Check nvidia-smi and CUDA_VISIBLE_DEVICES, and start a container with --gpus all.",
        or_says=("Found no NVIDIA driver on your system",),
        diagnosis="devices: no CUDA",
    ),
    KnownMessage(
        "no such GPU",
        "CUDA error: invalid device ordinal",
        cause="The number after cuda: must be less than the number of GPUs that this process sees.",
        fix="Print torch.cuda.device_count(). CUDA_VISIBLE_DEVICES selects the visible GPUs, which are then counted "
        "from 0.",
    ),
    KnownMessage(
        "CUDA assertion",
        "CUDA error: device-side assert triggered",
        cause="A GPU kernel found an invalid value, usually a class number or an index that is out of range. The GPU "
        "runs behind the program, so the traceback may show a later line.",
        fix="Run the same program on the CPU, or with CUDA_LAUNCH_BLOCKING=1. The message then names the operator. "
        "Check the indices and targets.",
    ),
    KnownMessage(
        "CUDA memory",
        "CUDA out of memory. Tried to allocate",
        cause="The GPU has not enough free memory for another tensor. Tensors saved in the forward pass use most of "
        "it. A loss that the program keeps (total += loss) keeps its whole graph.",
        fix="Use a smaller batch, keep loss.item() instead of loss, evaluate under torch.no_grad(), and use "
        "checkpointing or mixed precision.",
    ),
    KnownMessage(
        "CUDA after fork",
        "Cannot re-initialize CUDA in forked subprocess",
        cause="A process that had used CUDA was forked, and the child cannot use its parent's CUDA context. Usually a "
        "DataLoader worker creates tensors on the GPU.",
        fix="Keep datasets on the CPU and move batches in the main process, or use the start method spawn.",
    ),
    KnownMessage(
        "file of a GPU",
        "Attempting to deserialize object on a {device} device but",
        detail="The tensors were saved on {device}.",
        cause="torch.load() puts each tensor on the device that it was saved from, and this machine does not have that "
        "device.",
        fix="Pass map_location='cpu' to torch.load.",
        or_says=("Attempting to deserialize object on {device} device {number:n} but",),
    ),
)
"""One entry for each message."""
