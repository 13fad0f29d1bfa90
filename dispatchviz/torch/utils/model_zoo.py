"""``torch.utils.model_zoo``: the old name of ``torch.hub``'s downloads."""

from __future__ import annotations

from dispatchviz.torch.hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
