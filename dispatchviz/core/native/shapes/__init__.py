"""``cat``, ``stack``, ``split``, ``repeat``, ``roll``, ``diag``, ``tril`` and other operators that rearrange
elements."""
