"""Reasons for the layers above the backends."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.explain.sentences.then_and_now.entries import Reason, Source, seen

KEYS = "c10/core/DispatchKey.h"

LAYERS = (
    Reason(
        "autograd-key-from-creation",
        "Why do tensors have AutogradCUDA from creation?",
        "The key does not say that this tensor needs a gradient. It says that calls with CUDA tensors go through an "
        "autograd layer. All inputs and grad mode decide whether a call is recorded, and this can change at the next "
        "line, while the key set of a tensor stays the same. So the autograd kernel decides late, with "
        "compute_requires_grad. In inference mode nothing can be recorded, so tensors made in it do not get the key.",
        "the keys of a new tensor, which requires_grad_ does not change.",
        Source("c10/core/DispatchKeySet.h", "getAutogradRelatedKeySetFromBackend"),
        (seen(ev.TensorCreated), seen(ev.RequiresGradSet)),
        "examples/forum.py",
    ),
    Reason(
        "autograd-without-gradients",
        "Why does the autograd kernel run without gradients?",
        "The key set selects it, and all ordinary tensors have an autograd key. no_grad changes a flag of the thread "
        "and no key, so the kernel still runs. It calls compute_requires_grad, which checks whether grad mode is on "
        "and an input requires grad. If not, it creates no Node, saves nothing and redispatches. Only inference mode "
        "excludes the autograd keys, so that the kernel is not called.",
        "the autograd kernel of a call that records no Node: it only sets a guard and redispatches.",
        Source("torch/csrc/autograd/functions/utils.h", "compute_requires_grad"),
        (seen(ev.NoNodeMade), seen(ev.GradModeChanged), seen(ev.InferenceModeChanged)),
        "examples/no_grad.py",
    ),
    Reason(
        "adinplaceorview",
        "Why is ADInplaceOrView separate from Autograd?",
        "Versions are counted and views are recorded even where autograd does not run. An ordinary tensor may be "
        "written to in inference mode, and a later backward must detect that. So this is a separate key below the "
        "autograd keys, and inference mode does not remove it from tensors that have it. Most operators neither write "
        "nor make views, and have a fallthrough there. Tensors made in inference mode have no version to count and do "
        "not have this key.",
        "the work of the kernel after the backend has returned: a version goes up, or a view is recorded.",
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
        "Why does matmul record no Node?",
        "matmul is written in terms of other operators and registered for CompositeImplicitAutograd, an alias that "
        "covers backends and autograd keys. So the entries for CPU and AutogradCPU hold the same kernel. It calls mm, "
        "which has a formula, an autograd kernel and a Node. An operator that is composed of differentiable operators "
        "needs no formula of its own.",
        "the reason of the entry, math kernel, and the call below that records the Node.",
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
        "float32. So the cast must be recorded, and the Autocast keys are above the autograd keys. The autocast "
        "kernel casts the arguments and calls the operator again from the beginning, with its own key excluded. That "
        "call reaches autograd with tensors of the lower precision.",
        "the Node of the cast, ToCopyBackward0, and the Node of the second call of the operator.",
        Source(KEYS, "AutocastCPU"),
        (seen(ev.Dispatched, key="Autocast*"), seen(ev.AutocastCast)),
        "examples/autocast.py",
    ),
    Reason(
        "python-below-autograd",
        "Why does a dispatch mode see calls after autograd?",
        "The key Python is below the autograd keys and above the backends. When a TorchDispatchMode or a "
        "__torch_dispatch__ is called, Nodes are already recorded and composites decomposed. It sees the calls that "
        "would reach a backend kernel, also during backward. The graph exists in any case, no matter what the handler "
        "returns.",
        "the autograd kernel around the step, and the operators that the handler gets: those that composites call.",
        Source(KEYS, "PythonTLSSnapshot"),
        (seen(ev.TorchDispatchEntered), seen(ev.Dispatched, key="Python")),
        "examples/logging_mode.py",
    ),
    Reason(
        "front-and-back",
        "Why does vmap have a front and a back?",
        "Transforms can be nested, and each must see the call that the inner transform passes on. The front is above "
        "nearly all keys. It gives the call to the innermost transform and hides the others. The back is below "
        "everything that the transform handles, and it catches the calls that the transform makes. The back pops the "
        "transform and dispatches from the beginning, so the next transform gets the call. After the last transform, "
        "the ordinary kernels get it.",
        "the thread-local sets, which front and back change, and the key that each call is dispatched to.",
        Source("aten/src/ATen/functorch/DynamicLayer.cpp", "dynamicLayerBackFallback"),
        (
            seen(ev.Dispatched, key="FuncTorchDynamicLayer*"),
            seen(ev.DynamicLayerPushed),
            seen(ev.DynamicLayerPopped),
        ),
        "examples/vmap.py",
    ),
)
