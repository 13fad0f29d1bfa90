"""The reasons why AccumulateGrad steals or copies a gradient. This module imports nothing, so screens can load it."""

STEALABLE = "grad mode is off, only the engine holds the gradient, and its strides obey the layout contract"

NOT_ENFORCED = "grad mode is off, only the engine holds the gradient, and the layout contract is not enforced here"
"""The reason why a gradient with other strides is stolen."""

GRAD_MODE = "grad mode is on: a gradient is stolen only while it is off"
SHARED = "the gradient has another reference"
"""The reason why a gradient is copied. Any other reason is its strides."""

OLD_REASONS = {
    "grad mode is off, nobody else holds the gradient, and its strides obey the layout contract": STEALABLE,
    "grad mode is off, nobody else holds the gradient, and the layout contract is not enforced here": NOT_ENFORCED,
    "grad mode is on: a gradient is only taken over while it is off": GRAD_MODE,
    "somebody else holds the gradient too": SHARED,
}
"""The reasons in traces of earlier versions, and today's."""
