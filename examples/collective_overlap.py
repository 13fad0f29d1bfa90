import torch

# An all-to-all of embeddings, a dense network, and an interaction of both. In the backward pass nothing orders the
# two branches, so the one whose forward ran last goes first. That is the dense one, and the collective has to
# wait. If it started first, it would use the network while the dense branch keeps the processor busy.


def all_to_all(embeddings):
    return embeddings.clone().neg()  # stands for the collective: two Nodes


def dense_net(x):
    return x.exp().sqrt().exp()


def run(collective_first):
    order.clear()
    embeddings = torch.ones(3, requires_grad=True)
    features = torch.ones(3, requires_grad=True)
    exchanged = all_to_all(embeddings)
    dense = dense_net(features)
    out = exchanged * dense
    node = exchanged.grad_fn
    if collective_first:  # every Node of the branch, because only ready Nodes compete
        number = out.grad_fn._sequence_nr()
        node._set_sequence_nr(number + 2)
        node.next_functions[0][0]._set_sequence_nr(number + 1)
    watch(node, "collective")
    watch(node.next_functions[0][0], "collective")
    step = dense.grad_fn
    while step.next_functions:
        watch(step, "dense")
        step = step.next_functions[0][0]
    out.backward(torch.ones(3))


def watch(node, branch):
    node.register_prehook(lambda gradients: order.append(branch))


order = []
run(collective_first=False)
print("as recorded:", *order)
run(collective_first=True)
print("renumbered: ", *order)
