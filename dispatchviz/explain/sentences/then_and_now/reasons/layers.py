"""Why the layers above the backends are as they are."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.explain.sentences.then_and_now.entries import Reason, Source, seen

KEYS = "c10/core/DispatchKey.h"

LAYERS = (
    Reason(
        "autograd-key-from-creation",
        "Why is AutogradCUDA there at creation?",
        "The key does not say that this tensor needs a gradient. It says that CUDA tensors have an autograd layer to "
        "pass. Whether a call is recorded depends on all of its inputs and on grad mode, and can be different at the "
        "next line; the key set of a tensor stays as it was made. So the question is asked late, in the autograd "
        "kernel, by compute_requires_grad. In inference mode nothing can be recorded, and tensors made in it do not "
        "get the key.",
        "the keys of a new tensor, and that requires_grad_ changes none of them.",
        Source("c10/core/DispatchKeySet.h", "getAutogradRelatedKeySetFromBackend"),
        (seen(ev.TensorCreated), seen(ev.RequiresGradSet)),
        "examples/forum.py",
    ),
    Reason(
        "autograd-without-gradients",
        "Why does the autograd kernel run without gradients?",
        "A key set chooses it, and autograd keys are in the sets of all ordinary tensors. no_grad changes a flag of "
        "the thread and no key, so the kernel runs under it as well. It asks compute_requires_grad: is grad mode on, "
        "does an input require grad? If not, it makes no Node, saves nothing and redispatches. Inference mode does "
        "exclude the autograd keys, and then the kernel is not called.",
        "the autograd kernel of a call that makes no Node, and what it does besides: a guard and a redispatch.",
        Source("torch/csrc/autograd/functions/utils.h", "compute_requires_grad"),
        (seen(ev.NoNodeMade), seen(ev.GradModeChanged), seen(ev.InferenceModeChanged)),
        "examples/no_grad.py",
    ),
    Reason(
        "adinplaceorview",
        "Why is ADInplaceOrView apart from Autograd?",
        "Versions are counted and views are noted even where autograd does not run: an ordinary tensor may be written "
        "to in inference mode, and a backward later on must find out. So this is a key of its own below the autograd "
        "keys, and inference mode does not take it from tensors that have it. Most operators neither write nor make "
        "views; for them it falls through. Tensors made in inference mode have no version to count, and not this key.",
        "what the kernel does when the backend has returned: a version goes up, or a view is noted.",
        Source(KEYS, "ADInplaceOrView"),
        (
            seen(ev.Dispatched, key="ADInplaceOrView"),
            seen(ev.KernelEntered, kernel="ADInplaceOrView::*"),
            seen(ev.VersionBumped),
            seen(ev.ViewMade),
        ),
        "examples/chains/in_place.py",
    ),
    Reason(
        "composites",
        "Why does matmul make no Node?",
        "matmul is written in terms of other operators and registered to CompositeImplicitAutograd, an alias that "
        "covers backends and autograd keys alike. So the same kernel is in the cells of CPU and AutogradCPU. It calls "
        "mm, which has a formula, an autograd kernel and a Node. What is made of differentiable parts needs no "
        "formula of its own.",
        "the reason of the cell, math kernel, and which of the calls below makes the Node.",
        Source(KEYS, "CompositeImplicitAutograd"),
        (
            seen(ev.KernelSelected, reason="math kernel"),
            seen(ev.KernelEntered, kernel="wrapper_CompositeImplicitAutograd_*"),
        ),
        "examples/chains/composites.py",
    ),
    Reason(
        "autocast-above-autograd",
        "Why is autocast above autograd?",
        "A cast is a part of the computation: the gradient has to go back through it, to a weight that is still "
        "float32. So it must be recorded, and the Autocast keys are above the autograd keys. Autocast's kernel casts "
        "the arguments and calls the operator again from the beginning, with its own key excluded. That call comes to "
        "autograd with tensors of the lower precision.",
        "the cast makes a Node, ToCopyBackward0, and the second call of the operator makes the next one.",
        Source(KEYS, "AutocastCPU"),
        (seen(ev.Dispatched, key="Autocast*"), seen(ev.AutocastCast)),
        "examples/autocast.py",
    ),
    Reason(
        "python-below-autograd",
        "Why does a dispatch mode see calls after autograd?",
        "The key Python is below the autograd keys and above the backends. When a TorchDispatchMode or a "
        "__torch_dispatch__ is asked, Nodes have been made and composites taken apart. It sees the calls that would "
        "reach a backend's kernel, those of backward too. Whatever it gives for an answer, the graph is there.",
        "the autograd kernel around the step, and that the handler is called with operators that composites call.",
        Source(KEYS, "PythonTLSSnapshot"),
        (seen(ev.TorchDispatchEntered), seen(ev.Dispatched, key="Python")),
        "examples/logging_mode.py",
    ),
    Reason(
        "front-and-back",
        "Why does vmap have a front and a back?",
        "Transforms can be nested, and each must see the call that the one inside it has left. The front is above "
        "nearly all keys: it gives the call to the innermost transform and hides the others. What that transform "
        "calls in turn is caught at the back, below everything that the transform handles. The back lays the "
        "transform aside and dispatches from the beginning, so the next one gets the call, and after the last one the "
        "ordinary kernels do.",
        "the thread's sets, which front and back change, and the key that each of the calls is dispatched to.",
        Source("aten/src/ATen/functorch/DynamicLayer.cpp", "dynamicLayerBackFallback"),
        (
            seen(ev.Dispatched, key="FuncTorchDynamicLayer*"),
            seen(ev.DynamicLayerPushed),
            seen(ev.DynamicLayerPopped),
        ),
        "examples/vmap.py",
    ),
)
