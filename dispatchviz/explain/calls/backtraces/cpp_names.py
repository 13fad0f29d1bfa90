"""Names of C++ functions as gdb, lldb and demanglers print them, without their long parts."""

from __future__ import annotations

import re

_LAMBDA = re.compile(r"\{lambda\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)#\d+\}|<lambda\((?:[^()]|\([^()]*\))*\)>")
"""``{lambda(int)#1}`` of a demangler, ``<lambda(int)>`` of debug information."""
_CLANGS_LAMBDA = re.compile(r"'lambda\d*'\((?:[^()]|\([^()]*\))*\)|\$_\d+")
_UNNAMED = ("(anonymous namespace)::", "{anonymous}::", "<unnamed>::")
_OPERATOR = re.compile(r"\boperator(?:\(\)|->\*?|<<=?|>>=?|<=>|<=?|>=?)(?=[(<@]|$| const)")
_WRAPPED = re.compile(r"CompileTimeFunctionPointer<.*?, \(?&\(?((?:[\w:]|\(anonymous namespace\)|\{anonymous\})+)")


def plain_name(printed: str) -> str:
    """``a::B::call`` of ``a::B<int>::call(int) [clone .isra.0]``: no template arguments, parameters, return type.

    A lambda becomes ``{lambda}``, and ``(anonymous namespace)`` is removed.
    """
    if re.fullmatch(r"<[\w ]+>", printed):
        return printed  # <signal handler called>
    name = re.sub(r" \[(?:clone|abi)[^]]*\]|\[abi:\w+\]", "", printed).removesuffix("@plt")
    for unnamed in _UNNAMED:
        name = name.replace(unnamed, "")
    name = _CLANGS_LAMBDA.sub("{lambda}", _LAMBDA.sub("{lambda}", name))
    operators = _OPERATOR.findall(name)
    kept = _outside_of_brackets(_OPERATOR.sub("\0", name))
    kept = re.sub(r"( const)?&{0,2}$", "", kept).rpartition(" ")[2]
    for operator in operators[: kept.count("\0")]:
        kept = kept.replace("\0", operator, 1)
    return kept.replace("{lambda}::operator()", "{lambda}")


def _outside_of_brackets(name: str) -> str:
    kept, depth, before = [], 0, ""
    for letter in name:
        closes = letter in ">)" and before != "-"
        depth -= closes
        if depth == 0 and letter not in "<()" and not closes:
            kept.append(letter)
        depth += letter in "<("
        before = letter
    return "".join(kept)


def wrapped_function(printed: str) -> str:
    """The plain name of the function in the template arguments of an adapter; empty for other names."""
    found = _WRAPPED.search(printed)
    if found is None:
        return ""
    name = found[1]
    for unnamed in _UNNAMED:
        name = name.replace(unnamed, "")
    return name
