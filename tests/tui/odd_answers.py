"""Odd answers for every question of the stepper: typing mistakes, pasted text, experiments."""

from __future__ import annotations

ODD_ANSWERS = (
    "", " ", "0", "-1", "--5", "+-1", "++1", "-", "+", "%", "-50%", "150%", "1e9", "1.5", "0x10", "1_000", "007",
    "9" * 30, "-" + "9" * 5000, "9" * 5000 + "%", "٣٧", "³", "１２", "१%", "[/]", "[red]x[/red]", "[", "]\\", "{0}%s",
    "\x1b[31mred", "\x07\x00\x7f", "\x9b31m", "a\tb", "a\nb", "\u202eabc", "\u200b", "e\u0301", "\U0001f600", "日本語",
    "\ud800", "x" * 10_000, "add " * 2_500, "(" * 500, "NodeCreated", "nodecreated", "add", "AutogradCUDA",
    "DispatchKey.", "aten::", "::", "line", "None", "../../etc", "line 6", "line 6 ignore 9", "forum.py:6",
    "variable z", "torch.add", "if depth > 2", "Dispatched if operator == aten::add.Tensor and depth > 2 ignore 1",
    "add if if if", "ignore 3", "key:CUDA node:Add", 'key: "', 'says:"the key', "tensor:x line:6 returns",
)  # fmt: skip
