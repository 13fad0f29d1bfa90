"""Messages of modules, losses and optimizers."""

from __future__ import annotations

from dispatchviz.explain.diagnosis.messages.known_message import KnownMessage

MODULES = (
    KnownMessage(
        "channels do not fit",
        "expected input{input:shape} to have {expected:n} channels, but got {got:n} channels instead",
        detail="The input {input} has {got} channels, the layer takes {expected}.",
        cause="Dimension 1 of an input with a batch (0 without) is that of its channels, and it has as many as the "
        "weight was made for: in_channels.",
        fix="Create the layer with that number, or move the channels to dimension 1: x.permute(0, 3, 1, 2) for images "
        "with the channels last.",
        diagnosis="shapes: channels of a convolution",
    ),
    KnownMessage(
        "dimensions of an image",
        "Expected {unbatched}D (unbatched) or {batched}D (batched) input to {function}, but got input of size: "
        "{size:shape}",
        detail="{function} got the shape {size}.",
        cause="The layer takes channels and then the dimensions that it works along, with a batch before them or not.",
        fix="Add what is missing with unsqueeze: x[None] for a batch of one, x[:, None] for one channel.",
        diagnosis="shapes: dimensions of a layer's input",
    ),
    KnownMessage(
        "kernel larger than the image",
        "Calculated padded input size per channel: ({input:text}). Kernel size: ({kernel:text}). Kernel size can't be "
        "greater than actual input size",
        detail="The input is {input} with its padding, the kernel {kernel}.",
        cause="A convolution lays its kernel within the input, and the input is too small: layers before have made it "
        "smaller.",
        fix="Use padding, fewer layers that halve the size, or larger images.",
        diagnosis="shapes: kernel larger than its input",
    ),
    KnownMessage(
        "output too small",
        "Output size is too small",
        cause="Pooling gives one number for each window, and the input is smaller than a window: layers before have "
        "made it smaller.",
        fix="Use fewer pooling layers, larger images, or nn.AdaptiveAvgPool2d.",
    ),
    KnownMessage(
        "padding too large",
        "Padding size should be less than the corresponding input dimension, but got: padding ({padding:text}) at "
        "dimension {dim:n} of input {input:shape}",
        detail="The padding is ({padding}) at dimension {dim} of {input}.",
        cause="Reflection copies the padding from the input, so the padding must be smaller than the input.",
        fix="Pad less, or use mode='constant' or 'replicate'.",
    ),
    KnownMessage(
        "features of batch norm",
        "{statistic} should contain {input:n} elements not {layer:n}",
        detail="The input has {input} channels, the layer was made for {layer}.",
        cause="A batch norm keeps a mean and a variance for each channel of its input (dimension 1).",
        fix="Create the layer with num_features equal to the number of the input's channels.",
        diagnosis="shapes: channels of a normalization",
    ),
    KnownMessage(
        "one value per channel",
        "Expected more than 1 value per channel when training, got input size {size:shape}",
        detail="The input has the shape {size}.",
        cause="In training a batch norm computes the variance of each channel over the batch, and one value has none.",
        fix="Use drop_last=True in the DataLoader, larger batches, or model.eval() where nothing is trained.",
    ),
    KnownMessage(
        "dimensions of batch norm",
        "expected {expected:text} input (got {got}D input)",
        detail="The layer takes {expected} input, and got one of {got} dimensions.",
        cause="The number in the layer's name says how many dimensions it works along, besides batch and channels.",
        fix="Choose the layer for the input (BatchNorm1d after Linear), or add the missing dimension.",
    ),
    KnownMessage(
        "normalized shape",
        "Given normalized_shape={layer:shape}, expected input with shape {expected:shape}, but got input of size"
        "{input:shape}",
        detail="The layer was made for {layer}, and the input has the shape {input}.",
        cause="Layer norm works along the last dimensions of its input, and their sizes are fixed.",
        fix="Create the layer with the sizes of the last dimensions, or transpose the input.",
        diagnosis="shapes: layer norm",
    ),
    KnownMessage(
        "groups of channels",
        "num_channels ({channels:n}) must be divisible by num_groups ({groups:n})",
        detail="{channels} channels do not make {groups} equal groups.",
        cause="Group norm divides the channels into groups of equal size.",
        fix="Choose a number of groups that divides the number of channels.",
    ),
    KnownMessage(
        "dropout probability",
        "dropout probability has to be between 0 and 1, but got {p}",
        detail="p is {p}.",
        cause="p is the part of the elements that are set to 0.",
        fix="Write 0.5 for half of them.",
    ),
    KnownMessage(
        "features of a recurrent layer",
        "input.size(-1) must be equal to input_size. Expected {expected:n}, got {got:n}",
        detail="The last dimension has the size {got}, the layer takes {expected}.",
        cause="The last dimension of a recurrent layer's input holds the features of one step.",
        fix="Create the layer with that input_size, and put the features last.",
        diagnosis="shapes: features of a recurrent layer",
    ),
    KnownMessage(
        "hidden state",
        "Expected hidden{number:text} size ({expected:text}), got {got:shape}",
        detail="The hidden state has the shape {got}, expected is ({expected}).",
        cause="A hidden state has the shape (layers, batch, features), also with batch_first=True.",
        fix="Create it with the batch size of the input in the second place; the last batch of a DataLoader may be "
        "smaller.",
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
        detail="The input has {got} features, the layer takes {expected}.",
        cause="The last dimension of the query is embed_dim.",
        fix="Create the layer with that embed_dim, or bring the input to it with nn.Linear.",
        diagnosis="shapes: features of a recurrent layer",
    ),
    KnownMessage(
        "attention mask",
        "The shape of the {dims}D attn_mask is {mask:shape}, but should be ({expected:text})",
        detail="The mask has the shape {mask}, expected is ({expected}).",
        cause="attn_mask says for each query which keys it may look at: (queries, keys), or with batch times heads "
        "before.",
        fix="Create it of that shape; for padding of each sequence use key_padding_mask instead.",
    ),
    KnownMessage(
        "batch of the target",
        "Expected input batch_size ({input:n}) to match target batch_size ({target:n})",
        detail="There are {input} rows of scores and {target} targets.",
        cause="A loss of classes compares one row of scores with one class number. A reshape before the loss that "
        "mixes batch and features changes their number.",
        fix="Keep the batch in dimension 0: x.flatten(start_dim=1), and for sequences reshape scores to (-1, classes) "
        "and targets to (-1).",
        diagnosis="shapes: samples of a loss",
    ),
    KnownMessage(
        "target with a column",
        "0D or 1D target tensor expected, multi-target not supported",
        cause="Class numbers are a vector with one element for each row of scores, and this target has two dimensions.",
        fix="Use target.squeeze(1) or target[:, 0]; for one-hot rows target.argmax(1), or floating point "
        "probabilities.",
        or_says=("multi-target not supported at",),
        diagnosis="shapes: targets with many dimensions",
    ),
    KnownMessage(
        "size of a target image",
        "size mismatch (got input: {input:shape} , target: {target:shape}",
        detail="The scores have the shape {input}, the target {target}.",
        cause="With scores (batch, classes, height, width) the target has a class number for each pixel: (batch, "
        "height, width).",
        fix="Bring both to one height and width with F.interpolate, of targets with mode='nearest'.",
        diagnosis="shapes: targets of a sequence",
    ),
    KnownMessage(
        "size of the target",
        "Using a target size ({target:shape}) that is different to the input size ({input:shape}) is deprecated",
        detail="The prediction has the shape {input}, the target {target}.",
        cause="The loss compares each prediction with its target, and broadcasting would compare all with all.",
        fix="Use prediction.squeeze(1) or target.unsqueeze(1), so that both have one shape.",
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
        detail="The parameter is {name}, the value a {type}.",
        cause="An attribute that was registered as a parameter stays one, and a plain tensor is none.",
        fix="Assign torch.nn.Parameter(x), or write into it: with torch.no_grad(): layer.weight.copy_(x).",
        or_says=("cannot assign '{type}' object to parameter '{name}' (torch.nn.Parameter or None required)",),
    ),
    KnownMessage(
        "module before init",
        "before Module.__init__() call",
        cause="nn.Module.__init__ makes the tables of parameters and submodules, and it has not run yet.",
        fix="Call super().__init__() in the first line of __init__.",
    ),
    KnownMessage(
        "module without forward",
        'Module [{module}] is missing the required "forward" function',
        detail="The module is {module}.",
        cause="Calling a module runs its forward, and its class defines none: it is misspelled, or indented into "
        "__init__.",
        fix="Define forward(self, x) in the class, beside __init__. A ModuleList has none: call its modules in a loop.",
    ),
    KnownMessage(
        "state of another shape",
        "Error(s) in loading state_dict for {module}: size mismatch for {name}: copying a param with shape "
        "{file:shape} from checkpoint, the shape in current model is {model:shape}",
        detail="{name} has the shape {file} in the state dict and {model} in the model.",
        cause="A state dict is loaded by names, and each tensor must have the shape of the model's.",
        fix="Create the model with the sizes of the saved one, or drop that entry and pass strict=False.",
    ),
    KnownMessage(
        "state with other names",
        'Error(s) in loading state_dict for {module}: Missing key(s) in state_dict: "{missing}"',
        detail="The state dict has no {missing}.",
        cause="A state dict is loaded by names: module names with dots between them. nn.DataParallel puts `module.` "
        "before all of them, torch.compile `_orig_mod.`, and a checkpoint often has the state dict under a key of its "
        "own.",
        fix="Print the keys of both, and cut the prefix: {k.removeprefix('module.'): v for k, v in state.items()}.",
        or_says=("Error(s) in loading state_dict for {module}: Unexpected key(s) in state_dict: ",),
    ),
    KnownMessage(
        "optimizer of a result",
        "can't optimize a non-leaf Tensor",
        cause="A result is computed anew from its leaves each time: a change of it would be lost. x.to(device) and "
        "x * 0.1 give results.",
        fix="Give the optimizer the leaf; make it on its device first, and require grad last: "
        "torch.randn(3, device=device).requires_grad_().",
    ),
    KnownMessage(
        "optimizer of one tensor",
        "params argument given to the optimizer should be an iterable of Tensors or dicts, but got {type}",
        detail="It got a {type}.",
        cause="An optimizer takes the list of what it optimizes.",
        fix="Pass [w], or model.parameters() with its parentheses.",
    ),
    KnownMessage(
        "optimizer without parameters",
        "optimizer got an empty parameter list",
        cause="The module has no parameters: its layers are in a plain list or dict, or the generator had been read to "
        "its end before.",
        fix="Keep layers in nn.ModuleList or nn.ModuleDict, and call model.parameters() anew for each use.",
    ),
    KnownMessage(
        "parameter in two groups",
        "some parameters appear in more than one parameter group",
        cause="An optimizer keeps one state and one learning rate for each parameter.",
        fix="Leave the parameters of one group out of the other; shared parameters are in both modules.",
    ),
)
"""One entry for each message."""
