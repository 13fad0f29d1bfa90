"""Names of C++ functions as a debugger prints them, shortened."""

from __future__ import annotations

import re

_LAMBDA = re.compile(r"\{lambda\((?:[^()]|\([^()]*\))*\)#\d+\}")
_WRAPPED = re.compile(r"CompileTimeFunctionPointer<.*?, &((?:[\w:]|\(anonymous namespace\))+)>")
_OPERATOR = "operator()"


def plain_name(printed: str) -> str:
    """The name without template arguments, parameters and return type: ``a::B::call`` for ``a::B<int>::call(int) [clone
    .isra.0]``.

    A lambda becomes ``{lambda}``. ``(anonymous namespace)`` is removed.
    """
    name = printed.partition(" [clone")[0].removesuffix("@plt").replace("(anonymous namespace)::", "")
    name = _LAMBDA.sub("{lambda}", name).replace(_OPERATOR, "\0")
    kept = "".join(_outside_of_brackets(name)).removesuffix(" const").rpartition(" ")[2]
    return kept.replace("{lambda}::\0", "{lambda}").replace("\0", _OPERATOR)


def _outside_of_brackets(name: str) -> list[str]:
    kept, depth = [], 0
    for letter in name:
        depth -= letter in ">)"
        if depth == 0 and letter not in "<(>)":
            kept.append(letter)
        depth += letter in "<("
    return kept


def wrapped_function(printed: str) -> str:
    """The plain name of the function in the template arguments of an adapter; empty if there is none."""
    found = _WRAPPED.search(printed)
    return "" if found is None else found[1].replace("(anonymous namespace)::", "")
