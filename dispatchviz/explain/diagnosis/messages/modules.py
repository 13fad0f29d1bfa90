"""Messages of modules, losses and optimizers."""

from __future__ import annotations

from dispatchviz.explain.diagnosis.messages.known_message import KnownMessage

MODULES = (
    KnownMessage(
        "channels do not fit",
        "expected input{input:shape} to have {expected:n} channels, but got {got:n} channels instead",
        detail="The input {input} has {got} channels; the layer takes {expected}.",
        cause="Dimension 1 of a batched input (dimension 0 without a batch) holds the channels, and its size must "
        "equal the layer's in_channels.",
        fix="Create the layer with that number of channels, or move the channels to dimension 1: x.permute(0, 3, 1, 2) "
        "for images with the channels last.",
        diagnosis="shapes: channels of a convolution",
    ),
    KnownMessage(
        "dimensions of an image",
        "Expected {unbatched}D (unbatched) or {batched}D (batched) input to {function}, but got input of size: "
        "{size:shape}",
        detail="{function} got an input of shape {size}.",
        cause="The layer's input has a channel dimension and then the dimensions that the layer works along. A batch "
        "dimension may come first.",
        fix="Add the missing dimension: x[None] for a batch of one, x[:, None] for one channel.",
        diagnosis="shapes: dimensions of a layer's input",
    ),
    KnownMessage(
        "kernel larger than the image",
        "Calculated padded input size per channel: ({input:text}). Kernel size: ({kernel:text}). Kernel size can't be "
        "greater than actual input size",
        detail="The padded input is {input}; the kernel is {kernel}.",
        cause="A convolution places its kernel inside the input, and the input is too small. Earlier layers have made "
        "it smaller.",
        fix="Use padding, fewer layers that halve the size, or larger images.",
        diagnosis="shapes: kernel larger than its input",
    ),
    KnownMessage(
        "output too small",
        "Output size is too small",
        cause="Pooling computes one number for each window, and the input is smaller than a window. Earlier layers "
        "have made it smaller.",
        fix="Use fewer pooling layers, larger images, or nn.AdaptiveAvgPool2d.",
    ),
    KnownMessage(
        "padding too large",
        "Padding size should be less than the corresponding input dimension, but got: padding ({padding:text}) at "
        "dimension {dim:n} of input {input:shape}",
        detail="The padding is ({padding}) at dimension {dim} of {input}.",
        cause="Reflection padding copies values of the input, so it must be smaller than the input.",
        fix="Use less padding, or mode='constant' or 'replicate'.",
    ),
    KnownMessage(
        "features of batch norm",
        "{statistic} should contain {input:n} elements not {layer:n}",
        detail="The input has {input} channels; the layer was created for {layer}.",
        cause="A batch norm layer keeps a mean and a variance for each channel of its input (dimension 1).",
        fix="Create the layer with num_features equal to the number of input channels.",
        diagnosis="shapes: channels of a normalization",
    ),
    KnownMessage(
        "one value per channel",
        "Expected more than 1 value per channel when training, got input size {size:shape}",
        detail="The input has shape {size}.",
        cause="In training mode, batch norm computes the variance of each channel over the batch, and a single value "
        "has no variance.",
        fix="Use drop_last=True in the DataLoader, larger batches, or model.eval() when you do not train.",
    ),
    KnownMessage(
        "dimensions of batch norm",
        "expected {expected:text} input (got {got}D input)",
        detail="The layer takes {expected} input, and got one with {got} dimensions.",
        cause="The number in the layer's name is the number of dimensions that it works along, in addition to batch "
        "and channels.",
        fix="Choose the layer that fits the input (BatchNorm1d after Linear), or add the missing dimension.",
    ),
    KnownMessage(
        "normalized shape",
        "Given normalized_shape={layer:shape}, expected input with shape {expected:shape}, but got input of size"
        "{input:shape}",
        detail="The layer was created for {layer}; the input has shape {input}.",
        cause="Layer norm works along the last dimensions of its input, and the layer fixes their sizes.",
        fix="Create the layer with the sizes of the last dimensions, or transpose the input.",
        diagnosis="shapes: layer norm",
    ),
    KnownMessage(
        "groups of channels",
        "num_channels ({channels:n}) must be divisible by num_groups ({groups:n})",
        detail="{channels} channels cannot be divided into {groups} equal groups.",
        cause="Group norm divides the channels into groups of equal size.",
        fix="Choose a number of groups that divides the number of channels.",
    ),
    KnownMessage(
        "dropout probability",
        "dropout probability has to be between 0 and 1, but got {p}",
        detail="p is {p}.",
        cause="p is the fraction of the elements that are set to 0.",
        fix="Write 0.5 for half of them.",
    ),
    KnownMessage(
        "features of a recurrent layer",
        "input.size(-1) must be equal to input_size. Expected {expected:n}, got {got:n}",
        detail="The last dimension has size {got}; the layer takes {expected}.",
        cause="The last dimension of a recurrent layer's input holds the features of one time step.",
        fix="Create the layer with that input_size, and put the features last.",
        diagnosis="shapes: features of a recurrent layer",
    ),
    KnownMessage(
        "hidden state",
        "Expected hidden{number:text} size ({expected:text}), got {got:shape}",
        detail="The hidden state has shape {got}; expected is ({expected}).",
        cause="A hidden state has shape (layers, batch, features), even with batch_first=True.",
        fix="Use the batch size of the input as its second size. The last batch of a DataLoader may be smaller.",
    ),
    KnownMessage(
        "split into heads",
        "embed_dim must be divisible by num_heads",
        cause="Each head takes an equal part of the features.",
        fix="Choose a number of heads that divides embed_dim.",
    ),
    KnownMessage(
        "features of attention",
        "was expecting embedding dimension of {expected:n}, but got {got:n}",
        detail="The input has {got} features; the layer takes {expected}.",
        cause="The size of the query's last dimension must be embed_dim.",
        fix="Create the layer with that embed_dim, or project the input to embed_dim with nn.Linear.",
        diagnosis="shapes: features of a recurrent layer",
    ),
    KnownMessage(
        "attention mask",
        "The shape of the {dims}D attn_mask is {mask:shape}, but should be ({expected:text})",
        detail="The mask has shape {mask}; expected is ({expected}).",
        cause="attn_mask selects the keys that each query may attend to. Its shape is (queries, keys), or (batch times "
        "heads, queries, keys).",
        fix="Create it with that shape. To mask the padding of each sequence use key_padding_mask instead.",
    ),
    KnownMessage(
        "batch of the target",
        "Expected input batch_size ({input:n}) to match target batch_size ({target:n})",
        detail="There are {input} rows of scores and {target} targets.",
        cause="A classification loss compares each row of scores with one class number. A reshape before the loss that "
        "mixes batch and features changes the number of rows.",
        fix="Keep the batch in dimension 0: x.flatten(start_dim=1). For sequences reshape scores to (-1, classes) and "
        "targets to (-1).",
        diagnosis="shapes: samples of a loss",
    ),
    KnownMessage(
        "target with a column",
        "0D or 1D target tensor expected, multi-target not supported",
        cause="Class numbers must be a vector with one element for each row of scores, and this target has two "
        "dimensions.",
        fix="Use target.squeeze(1) or target[:, 0]. For one-hot rows use target.argmax(1), or pass floating point "
        "probabilities.",
        or_says=("multi-target not supported at",),
        diagnosis="shapes: targets with many dimensions",
    ),
    KnownMessage(
        "size of a target image",
        "size mismatch (got input: {input:shape} , target: {target:shape}",
        detail="The scores have shape {input}; the target has shape {target}.",
        cause="With scores of shape (batch, classes, height, width), the target needs a class number for each pixel: "
        "(batch, height, width).",
        fix="Resize both to the same height and width with F.interpolate(). Use mode='nearest' for targets.",
        diagnosis="shapes: targets of a sequence",
    ),
    KnownMessage(
        "size of the target",
        "Using a target size ({target:shape}) that is different to the input size ({input:shape}) is deprecated",
        detail="The prediction has shape {input}; the target has shape {target}.",
        cause="The loss compares each prediction with its own target. Broadcasting would compare every prediction with "
        "every target.",
        fix="Use prediction.squeeze(1) or target.unsqueeze(1) so that both have the same shape.",
        or_says=(
            "Target size ({target:shape}) must be the same as input size ({input:shape})",
            (
                "Using a target size ({target:shape}) that is different to the input size ({input:shape}). This will "
                "likely lead to incorrect results due to broadcasting"
            ),
        ),
        diagnosis="shapes: sizes of a loss",
    ),
    KnownMessage(
        "tensor as a parameter",
        "cannot assign '{type}' as parameter '{name}' (torch.nn.Parameter or None expected)",
        detail="The parameter is {name}; the value is a {type}.",
        cause="An attribute that was registered as a parameter must stay a Parameter, and a plain tensor is not one.",
        fix="Assign torch.nn.Parameter(x), or write into the parameter: with torch.no_grad(): layer.weight.copy_(x).",
        or_says=("cannot assign '{type}' object to parameter '{name}' (torch.nn.Parameter or None required)",),
    ),
    KnownMessage(
        "module before init",
        "before Module.__init__() call",
        cause="nn.Module.__init__ creates the tables of parameters and submodules, and it has not run yet.",
        fix="Call super().__init__() in the first line of __init__.",
    ),
    KnownMessage(
        "module without forward",
        'Module [{module}] is missing the required "forward" function',
        detail="The module is {module}.",
        cause="A call of a module runs its forward method, and this class defines none. It may be misspelled, or "
        "indented into __init__.",
        fix="Define forward(self, x) in the class, next to __init__. A ModuleList has no forward: call its modules "
        "in a loop.",
    ),
    KnownMessage(
        "state of another shape",
        "Error(s) in loading state_dict for {module}: size mismatch for {name}: copying a param with shape "
        "{file:shape} from checkpoint, the shape in current model is {model:shape}",
        detail="{name} has shape {file} in the state dict and {model} in the model.",
        cause="A state dict is loaded by name, and each tensor must have the shape of the model's tensor.",
        fix="Create the model with the sizes of the saved one, or remove that entry and pass strict=False.",
    ),
    KnownMessage(
        "state with other names",
        'Error(s) in loading state_dict for {module}: Missing key(s) in state_dict: "{missing}"',
        detail="The state dict has no {missing}.",
        cause="A state dict is loaded by name: module names with dots between them. nn.DataParallel adds the prefix "
        "`module.` to all of them, and torch.compile adds `_orig_mod.`. A checkpoint often has the state dict under "
        "a key of its own.",
        fix="Print the keys of both, and remove the prefix: {k.removeprefix('module.'): v for k, v in state.items()}.",
        or_says=("Error(s) in loading state_dict for {module}: Unexpected key(s) in state_dict: ",),
    ),
    KnownMessage(
        "optimizer of a result",
        "can't optimize a non-leaf Tensor",
        cause="A result is recomputed from its leaves each time, so an update of it would be lost. x.to(device) and x "
        "* 0.1 are results.",
        fix="Give the optimizer the leaf. Create it on its device and set requires_grad last: torch.randn(3, "
        "device=device).requires_grad_().",
    ),
    KnownMessage(
        "optimizer of one tensor",
        "params argument given to the optimizer should be an iterable of Tensors or dicts, but got {type}",
        detail="It got a {type}.",
        cause="An optimizer takes a list of the tensors that it optimizes.",
        fix="Pass [w], or model.parameters() with its parentheses.",
    ),
    KnownMessage(
        "optimizer without parameters",
        "optimizer got an empty parameter list",
        cause="The module has no parameters: its layers are in a plain list or dict, or the generator was already "
        "exhausted.",
        fix="Keep layers in nn.ModuleList or nn.ModuleDict, and call model.parameters() again for each use.",
    ),
    KnownMessage(
        "parameter in two groups",
        "some parameters appear in more than one parameter group",
        cause="An optimizer keeps one state and one learning rate for each parameter.",
        fix="Remove the parameters of one group from the other. Two modules can share a parameter.",
    ),
)
"""One entry for each message."""
