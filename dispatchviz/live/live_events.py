"""Events of a recording of a real PyTorch: the model's builder, with what it asks a Node's class given by its name."""

from __future__ import annotations

from typing import Any

from dispatchviz.user_lines import ProgramEventBuilder


class NodeKind:
    """What stands in a note for the class of a Node."""

    edge_names: tuple[str, ...] = ()

    def __init__(self, name: str) -> None:
        self.__name__ = self.cpp_name = name

    @staticmethod
    def formula() -> Any:
        """The function of ours that computes its gradients: there is none."""
        return None


class NodeKinds(dict[str, NodeKind]):
    """By ``Node::name``."""

    def __missing__(self, name: str) -> NodeKind:
        kind = self[name] = NodeKind(name)
        return kind


class LiveEventBuilder(ProgramEventBuilder):
    """Reads the notes of a ``LiveRecorder``."""
