# # Does a slice have memory of its own?
#
# `part` is a new tensor, made from the first two elements of `x`.

import torch

x = torch.zeros(4)
part = x[:2]
part.add_(7)

# stop: last event NumbersRecorded in `part.add_(7)`
# ask: What is `x[0]` after this line?
# - 0: `part` has memory of its own
#   A slice of a Python list is a copy. A slice of a tensor is not.
# - 7: `part` and `x` have the same memory
# answer: x[0].item() -> 7
# because: The call has written to `part`. At this step, `x` holds the same numbers.
#
# A slice is a view. A view has a shape and strides of its own, but it uses the memory of another tensor. `x[0]`,
# `view`, `transpose` and `expand` also return views. `x[:2].clone()` and `x[[0, 1]]` copy.


def facts():
    """Check the claims of the prose on PyTorch."""
    import torch

    x = torch.zeros(4)
    place = x.untyped_storage().data_ptr()
    square = x.view(2, 2)
    views = (x[:2], x[0], square, square.transpose(0, 1), x[:1].expand(3))
    assert all(view.untyped_storage().data_ptr() == place and view._is_view() for view in views)
    copies = (x[:2].clone(), x[[0, 1]])
    assert all(copy.untyped_storage().data_ptr() != place for copy in copies)


def check(trace):
    """Check that the slice is made without a copy."""
    assert_never(trace, call("aten::clone"))
    assert_subsequence(trace, [call("aten::slice.Tensor"), call("aten::add_.Tensor")])
