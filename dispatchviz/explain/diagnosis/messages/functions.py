"""Messages about a torch.autograd.Function, about hooks, and about hooks for saved tensors."""

from __future__ import annotations

from dispatchviz.explain.diagnosis.messages.known_message import KnownMessage

FUNCTIONS = (
    KnownMessage(
        "wrong number of gradients",
        "function {function} returned an incorrect number of gradients (expected {expected:n}, got {got:n})",
        detail="{function} returned {got}, and forward has {expected} inputs.",
        cause="backward must return one value for each input of forward, in the same order: None for an input that "
        "needs no gradient.",
        fix="Return as many values as forward has arguments, without ctx.",
        diagnosis="Function: number of gradients",
    ),
    KnownMessage(
        "returned gradient of another shape",
        "Function {function} returned an invalid gradient at index {index:n} - got {got:shape} but expected shape "
        "compatible with {expected:shape}",
        detail="{function} returned shape {got} for input {index} (counted from 0), whose shape is {expected}.",
        cause="A gradient must have the shape of its input.",
        fix="Sum the gradient over the dimensions that forward broadcast, and return the gradients in the order of "
        "forward's arguments.",
        diagnosis="Function: sizes of a gradient",
    ),
    KnownMessage(
        "gradient of no tensor",
        "function {function} returned a gradient different than None at position {position:n}, but the corresponding "
        "forward input was not a Variable",
        detail="{function} returned a gradient at position {position}.",
        cause="Only tensors have gradients: numbers and other values have none.",
        fix="Return None for that input.",
    ),
    KnownMessage(
        "gradient that is no tensor",
        "expected Variable or None (got {type})",
        detail="It got a value of type {type}.",
        cause="The value that backward returns goes to the next Node, so it must be a tensor or None.",
        fix="Compute the gradient from grad_output with torch operators, and return that tensor.",
        diagnosis="Function: type of a gradient",
    ),
    KnownMessage(
        "hook changes the size",
        "hook '{hook}' has changed the size of value",
        detail="The hook is {hook}.",
        cause="A hook may replace a gradient, but the next Node expects a gradient of the tensor's shape.",
        fix="Return a gradient of the same shape, or None to leave it unchanged.",
        diagnosis="hook: sizes of a gradient",
    ),
    KnownMessage(
        "hook changes the type",
        "hook '{hook}' has changed the type of value (was {was} got {got})",
        detail="The hook {hook} got a {was} and returned a {got}.",
        cause="A hook may replace a gradient, but the next Node expects the same dtype and device.",
        fix="Convert the result back (result.to(grad)), or return None to leave the gradient unchanged.",
        diagnosis="hook: dtype of a gradient",
    ),
    KnownMessage(
        "hook returns no tensor",
        "expected Variable, but hook returned '{type}'",
        detail="The hook returned a value of type {type}.",
        cause="The value that a hook returns replaces the gradient, so it must be a tensor or None.",
        fix="Return a tensor or nothing. A lambda always returns the value of its expression.",
        diagnosis="hook: type of a gradient",
    ),
    KnownMessage(
        "hook returns too few",
        "hook '{hook}' has returned an incorrect number of values (got {got:n}, but expected {expected:n})",
        detail="The hook {hook} returned {got} values instead of {expected}.",
        cause="A Node hook may replace the gradients of the Node, but only all of them at once.",
        fix="Return None, or a tuple with one gradient for each gradient that the hook got.",
        diagnosis="hook: number of gradients",
    ),
    KnownMessage(
        "Function of old style",
        "Legacy autograd function with non-static forward method is deprecated",
        cause="A Function is no longer an object with state. forward and backward are static methods, and ctx keeps "
        "the values that backward needs.",
        fix="Mark forward and backward with @staticmethod, give them ctx as the first argument, and call "
        "MyFunction.apply(x).",
        diagnosis="Function: called as an object",
    ),
    KnownMessage(
        "Function without backward",
        "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward"
        " mode AD",
        cause="The engine has reached the Node of a Function that does not define its derivative.",
        fix="Write a static method backward(ctx, *grad_outputs) in the Function.",
        diagnosis="Function: no backward",
    ),
    KnownMessage(
        "Function without jvp",
        "You must implement the jvp function for custom autograd.Function to use it with forward mode AD",
        cause="Forward mode computes the tangent of each operator as it runs. A Function needs jvp for that; backward "
        "does not help.",
        fix="Write a static method jvp(ctx, *tangents) in the Function.",
    ),
    KnownMessage(
        "Function without setup_context",
        "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
        "override the setup_context staticmethod",
        cause="A transform runs forward without a ctx. A separate method saves the values that backward needs.",
        fix="Write forward without ctx, and save the values that backward needs in setup_context(ctx, inputs, output).",
    ),
    KnownMessage(
        "Function without vmap",
        "You tried to vmap over {function}, but it does not have vmap support",
        detail="The Function is {function}.",
        cause="vmap does not look inside a Function, so it cannot know how forward treats an extra dimension.",
        fix="Set generate_vmap_rule = True in the Function if it uses only torch operators. Otherwise write a static "
        "method vmap.",
        or_says=(
            (
                "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
                "generate_vmap_rule=True"
            ),
        ),
    ),
    KnownMessage(
        "dirty input not returned",
        "Some elements marked as dirty during the forward method were not returned as output",
        cause="mark_dirty() declares that forward changed an input in place, so that input becomes a result of the "
        "Function.",
        fix="Return the changed input from forward, or change a clone and leave out mark_dirty().",
    ),
    KnownMessage(
        "saved value is no tensor",
        "save_for_backward can only save variables, but argument {index:n} is of type {type}",
        detail="Argument {index} has type {type}.",
        cause="save_for_backward() checks the versions of tensors, which other values do not have.",
        fix="Store other values as attributes: ctx.factor = factor.",
        diagnosis="Function: save_for_backward",
    ),
    KnownMessage(
        "unpack hook returns no tensor",
        "Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type}",
        detail="The hook returned a value of type {type}.",
        cause="The value that the unpack hook returns replaces the saved tensor in the Node's formula.",
        fix="Return a tensor like the one that the pack hook got.",
    ),
    KnownMessage(
        "pack hook in place",
        "A saved tensor pack hook is modifying its input in place",
        cause="A pack hook gets the saved tensor itself, so a write would change the program's values.",
        fix="Return a new tensor from the hook, or write to a clone.",
    ),
    KnownMessage(
        "accumulate hook returns a value",
        "Tensor post accumulate grad hooks should return None",
        cause="This hook runs after .grad has been written, so nothing would use its return value.",
        fix="Change leaf.grad in the hook and return nothing. A lambda always returns the value of its expression.",
    ),
    KnownMessage(
        "hook returns no tuple",
        "expected tuple, but hook returned '{type}'",
        detail="The hook returned a value of type {type}.",
        cause="A Node hook gets the Node's gradients as a tuple, and may replace them with a tuple of the same length.",
        fix="Return a tuple, or None to leave them unchanged.",
    ),
    KnownMessage(
        "Function without forward",
        "You must implement the forward function for custom autograd.Function",
        cause="apply() runs forward and records a Node for backward. This class does not define forward, or misspells "
        "it.",
        fix="Write a static method forward(ctx, *args) in the Function.",
    ),
    KnownMessage(
        "Function with backward and vjp",
        "Implementing both 'backward' and 'vjp' for a custom Function is not allowed",
        cause="backward and vjp are two names for the same method.",
        fix="Keep one of them.",
    ),
    KnownMessage(
        "changed view of a Function",
        "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more "
        "than one Tensor",
        cause="After a write to a view, autograd gives its base a new history. It can do that for only one result of a "
        "Node.",
        fix="Pass x.clone(), or split the Function into one that writes and one that computes the rest.",
    ),
    KnownMessage(
        "saved tensors read twice",
        "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set",
        cause="The Function releases its saved tensors at the first access, which frees their memory earlier.",
        fix="Read ctx.saved_tensors once into variables, or leave that attribute False.",
    ),
)
"""One entry for each message."""
