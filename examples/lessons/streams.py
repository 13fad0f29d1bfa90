# # How does a collective start before the dense branch?
#
# A model has two branches: one exchanges data between GPUs (a collective; `x.neg()` stands for it),
# and the other computes. On two streams they can run side by side, if the exchange starts first. In
# the forward pass the program takes care of that. In the backward pass the engine decides which
# branch is queued first, and it knows nothing about networks.

import torch

x = torch.ones(3, device="cuda", requires_grad=True)
w = torch.ones(3, device="cuda", requires_grad=True)
main, side = torch.cuda.current_stream(), torch.cuda.Stream()
side.wait_stream(main)
with torch.cuda.stream(side):
    exchanged = x.neg()
dense = w.exp().sqrt()
main.wait_stream(side)
out = torch.dot(exchanged, dense)
out.backward(retain_graph=True)
exchanged.grad_fn._set_sequence_nr(out.grad_fn._sequence_nr() + 1)
out.backward()

# ## Predict
#
# Without a GPU, CUDA is emulated: streams have numbers, and the trace records which stream waits
# for which, but nothing runs side by side. Which of these knows about a stream: the tensor, the
# dispatcher, the Node?
#
# predict: call neg
# A stream is not a key, and the dispatcher does not look at it. The kernel queues its work on the
# current stream of the thread, and the Node records which stream that was.
#
# predict: run SqrtBackward0
# The collective's Node is ready but waits, because its forward ran first. So the whole dense
# branch is queued before it, and only then does the exchange begin. By then there is little left
# that it could overlap with.
#
# ## Run
#
# stop: third event StreamChanged
# Now the collective's Node runs. The engine itself switches to the side stream, because the
# forward of this Node ran there. The program never asks for that.
#
# stop: third event StreamWaited
# The engine also makes this stream wait for the gradient, which `dot` has computed on the default
# stream. Otherwise the side stream might read memory that is not written yet.
#
# stop: fourth event StreamWaited
# When `backward` returns, the stream of its caller waits for the side stream, too. So you can use
# `x.grad` without thinking of streams.
#
# ## Investigate
#
# stop: event SequenceNumberSet
# The sequence number is the engine's priority, and nothing else decides here. So the program may
# set it. The thread's counter does not change. The number was derived from that of `out`, to be
# above all others.
#
# stop: second run NegBackward0
# The graph is the same, but the order differs: the exchange starts first, and the dense branch is
# queued while it runs. Pane 9 shows the queue.
#
# ## Modify
#
# Go to the line of `_set_sequence_nr` and press `W`: skip it, and compare the order of the second
# pass. Then turn the collective into two calls, `x.neg().clone()`, in a copy of the program. Is it
# enough to raise the number of the last call's Node?
#
# ## Make
#
# Write `first(node)`, which gives a Node and all Nodes behind it numbers above a given one, and
# start a branch of three Nodes with it. `examples/collective_overlap.py` shows one way.


def facts():
    """Check the claims of the prose against PyTorch; those about streams need CUDA, emulated or not."""
    import torch

    def order(raised):
        x = torch.ones(3, requires_grad=True)
        w = torch.ones(3, requires_grad=True)
        inner = x.neg()
        exchanged, exp = inner.clone(), w.exp()
        dense = exp.sqrt()
        out = torch.dot(exchanged, dense)
        nodes = {"dense 1": dense.grad_fn, "dense 2": exp.grad_fn, "w": exp.grad_fn.next_functions[0][0]}
        nodes |= {"clone": exchanged.grad_fn, "neg": inner.grad_fn}
        for k in range(raised):
            (exchanged, inner)[k].grad_fn._set_sequence_nr(out.grad_fn._sequence_nr() + 2 - k)
        after = (x + x).grad_fn._sequence_nr()
        assert after == out.grad_fn._sequence_nr() + 1, "the counter is not touched"
        ran = []
        for name, node in nodes.items():
            node.register_prehook(lambda gradients, name=name: ran.append(name))
        out.backward()
        return ran

    assert order(0) == ["dense 1", "dense 2", "w", "clone", "neg"]
    assert order(1) == ["clone", "dense 1", "dense 2", "w", "neg"], "only ready Nodes compete"
    assert order(2) == ["clone", "neg", "dense 1", "dense 2", "w"]

    if not torch.cuda.is_available():
        return
    x = torch.ones(3, device="cuda", requires_grad=True)
    main, side = torch.cuda.current_stream(), torch.cuda.Stream()
    keys = torch._C._dispatch_keys(x)
    side.wait_stream(main)
    with torch.cuda.stream(side):
        y = x.neg()
    main.wait_stream(side)
    assert torch._C._dispatch_keys(y) == keys, "a stream is not a key"
    seen = []
    y.grad_fn.register_prehook(lambda gradients: seen.append(torch.cuda.current_stream()))
    y.sum().backward()
    assert seen == [side], "a Node runs on the stream of its forward"
    assert torch.cuda.current_stream() == main


def check(trace):
    """Check the order of both passes, and which stream waited for which."""
    from dispatchviz.core.record import events as ev

    first = ["DotBackward0", "SqrtBackward0", "ExpBackward0", "w", "NegBackward0", "x"]
    second = ["DotBackward0", "NegBackward0", "x", "SqrtBackward0", "ExpBackward0", "w"]
    names = [name if len(name) > 1 else "torch::autograd::AccumulateGrad" for name in [*first, *second]]
    assert_sequence(trace, [node_ran(name) for name in names])
    assert_count(trace, event(ev.SequenceNumberSet, before=0, sequence_nr=4), 1)
    assert_subsequence(
        trace,
        [
            call("aten::neg", "AutogradCUDA"),
            node_ran("ExpBackward0"),
            event(ev.StreamChanged, before=0, stream=1),
            event(ev.StreamWaited, stream=1, recorded_on=0),
            node_ran("NegBackward0"),
            event(ev.StreamWaited, stream=0, recorded_on=1),
            event(ev.BackwardFinished),
        ],
    )
