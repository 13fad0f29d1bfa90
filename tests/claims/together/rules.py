"""Words that no value of a step can contradict: rules of PyTorch that always hold, and quoted texts."""

from __future__ import annotations

from tests.claims.together.reading import VERBATIM, always

VERBATIM |= {
    *("binding", "signature", "line reached", "printed", "program ended", "warning", "warning on stderr"),
    *("error", "error: message", "anomaly", "stack stored", "stack contents", "called by a binding", "attribute saved"),
    *(
        "operator defined",
        "operator defined after kernels",
        "forward formula",
        "element-wise forward formula",
        "linear forward formula",
        "operator defined, cells unknown",
        "result hashed",
        "numbers recorded",
        "numbers changed unseen",
        "edges in Python",
        "error: rule",
    ),
}

# A claim asks PyTorch: sentence_claims.py has them, tests/claims/check_*.py asks.
always(r"Only .* requires? grad\.|never changes a tensor's dispatch keys", "key set: autograd wins")
always(r"None of .* requires? grad", "key set: autograd wins", "no input requires grad")
always(r"a key's own kernel takes precedence over all others", "kernel in the cell")
always(r"as it does for every autograd key without a kernel of higher precedence", "kernel in the cell")
always(r"nothing is registered for \w+ itself", "kernel in the cell")
always(r"this operator registers nothing that covers the key", "kernel in the cell")
always(r"serves? every operator without a kernel of its own there|has only (a )?fallthroughs?", "fallthrough skipped")
always(r"is not needed and is never queued", "edge into a pruned Node")
always(r"only the (engine|buffer) holds the (earlier )?gradient", "gradient stolen", "gradients added in place")
always(
    r"The engine visits nothing beyond|the topological number there is below", "Node pruned by its topological number"
)

# A message's general cause holds for every program: tests/explain/diagnosis/messages raises each message on PyTorch.
# A fix is advice, not a fact about the step: tests/explain/diagnosis/programs runs the fixed programs.
always(r".+", "error: general cause", "error: try")

# The event itself shows it, or its position does.
always(r"\bnothing for edge|returns nothing", "Node done")
always(r"the last reference to it was an edge of", "Node freed with another")
always(r"the call below has returned", "transform pushed again")
always(r"requests only the gradient that arrived there", "captured, not run")
always(r"queued, but only so that its gradient can be captured", "last gradient arrived, to be captured")

# Rules that always hold.
ON_ONE_KERNEL = r"computes nothing|nothing to record|nothing has to be recorded|to the keys below|only redispatches"
always(
    ON_ONE_KERNEL,
    *("autograd kernel", "autograd kernel: nothing to record", "autograd kernel: not implemented"),
    *("autograd kernel: out", "kernel: composite", "never differentiable", "grad mode is off", "autograd fallback"),
)
always(r"^all has no derivative", "never differentiable")  # aten::all
always(r"one kernel for (all|most) backends", "kernel: explicit composite")
always(r"the tensors' keys below BackendSelect", "kernel: BackendSelect with tensors")
always(r"most keys from", "kernel: functorch")
always(r"every floating-point argument on the device, except float64", "kernel: autocast")
always(r"have had that key all along", "autocast on")
always(r"all uses share the Node of one cast", "autocast cast used again")
always(r"autograd has nothing to record", "guard", "key set: higher keys excluded")
always(r"the keys above Python have already been handled|the transform on top gets the call first", "guard")
always(r"the keys above Python have already been handled", "key set: higher keys excluded")
always(r"the transform on top gets the call first", "key set: higher keys excluded")
always(r"that the kernels below make|every call must reach it", "guard", "key set: higher keys excluded")
always(r"the keys above Python have been handled", "mode called", "tensor subclass called")
always(r"largest sequence number\) first", "order of Nodes")
always(r"An empty edge is kept|the (first|second) leads to", "edges")
always(r"so that all uses of", "AccumulateGrad referenced")
always(r"so nothing is recorded", "in-place write allowed")
always(r"it would have a grad_fn and no longer", "in-place write refused")
always(r"^\w+'s forward", "Function recorded")
always(r"^\w+'s forward", "Function not recorded", "called by the program")
always(r"see a sum that writes to nothing", "gradients added out of place")
always(r"with all modes disabled", "tensor printed", "tensor formatted")
always(r"the hook gets all gradients that arrive|must return None", "hook registered")
always(r"every call of this thread goes to the transform first", "transform begins")
always(r"It gets each call before the transforms below it", "inner transform begins")
always(r"that only wraps another one", "wrapper made")
always(r"traced back to the first forward", "parent assigned")
always(r"when it is first read", "tangent of a view made")
always(r"the level below", "grad mode on", "grad mode off", "grad mode off in inference mode")
always(r"not by the highest key of a set", "call for a key")
always(r"a Node that only warns|backward only warns", "autograd fallback: warns", "WarnNotImplemented made")
always(r"records all work queued|runs only after|reused only after", "stream event recorded", "stream waits")
always(r"it is reused only after the work", "memory used on a stream")
always(r"backends that have only the out form", "output by default")
always(r"At an autograd key, above Python, its composite kernel", "composite in Python")
always(r"returns None or zeros, or raises an error", "input not in the graph of grad")
always(r"is first seen here", "known Node")
