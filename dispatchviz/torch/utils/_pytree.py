"""Nested containers as trees (``torch/utils/_pytree.py``): lists, tuples, dicts, named tuples, deques.

Everything else is a leaf, including None. Dicts keep the order of their keys.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dispatchviz.core.generated import return_types
from dispatchviz.torch.size import Size

PyTree = Any


@dataclass(frozen=True, repr=False)
class TreeSpec:
    """The structure of a tree: its containers without the leaves."""

    type: Any
    """The class of the container, or None for a leaf."""
    context: Any
    """The data that rebuilds the container from its children, such as the keys of a dict."""
    children_specs: list[TreeSpec]

    @property
    def num_leaves(self) -> int:
        """The number of leaves."""
        return 1 if self.type is None else sum(child.num_leaves for child in self.children_specs)

    def is_leaf(self) -> bool:
        """Return whether the spec is a leaf."""
        return self.type is None

    def __repr__(self) -> str:
        return self._text(0)

    def _text(self, indent: int) -> str:
        """Return the spec as PyTorch prints it, with each child but the first on a line of its own."""
        if self.type is None:
            return "*"
        indent += 2
        named = hasattr(self.type, "_fields")  # PyTorch registers all named tuples under one type
        children = (",\n" + " " * indent).join(child._text(indent) for child in self.children_specs)
        return f"TreeSpec({'namedtuple' if named else self.type.__name__}, {self.context}, [{children}])"


Flatten = Callable[[Any], tuple[list[Any], Any]]
Unflatten = Callable[[Iterable[Any], Any], Any]


def _keyed(tree: Any) -> tuple[list[Any], Any]:
    return list(tree.values()), list(tree.keys())


def _items(tree: Any) -> tuple[list[Any], Any]:
    return list(tree), None


_REGISTRY: dict[type, tuple[Flatten, Unflatten]] = {
    tuple: (_items, lambda values, context: tuple(values)),
    list: (_items, lambda values, context: list(values)),
    Size: (_items, lambda values, context: tuple(values)),
    dict: (_keyed, lambda values, keys: dict(zip(keys, values, strict=True))),
    OrderedDict: (_keyed, lambda values, keys: OrderedDict(zip(keys, values, strict=True))),
    defaultdict: (
        lambda tree: (list(tree.values()), (tree.default_factory, list(tree.keys()))),
        lambda values, context: defaultdict(context[0], zip(context[1], values, strict=True)),
    ),
    deque: (
        lambda tree: (list(tree), tree.maxlen),
        lambda values, maxlen: deque(values, maxlen),
    ),
}
"""Class of a container -> its flatten and unflatten functions."""


def _named_results(cls: Callable[[list[Any]], Any]) -> tuple[Flatten, Unflatten]:
    return _items, lambda values, context: cls(values)


_REGISTRY |= {
    cls: _named_results(cls) for cls in vars(return_types).values() if isinstance(cls, type) and issubclass(cls, tuple)
}
# which PyTorch registers in torch/return_types.py

_NAMED_TUPLE: tuple[Flatten, Unflatten] = (
    lambda tree: (list(tree), type(tree)),
    lambda values, cls: cls(*values),
)


def _is_namedtuple(tree: Any) -> bool:
    return isinstance(tree, tuple) and hasattr(tree, "_fields")


def _container(tree: Any) -> tuple[Flatten, Unflatten] | None:
    """Return the flatten and unflatten functions of a container, or None for a leaf. Instances of subclasses are
    leaves.
    """
    found = _REGISTRY.get(type(tree))
    return found if found is not None else _NAMED_TUPLE if _is_namedtuple(tree) else None


def register_pytree_node(cls: type, flatten_fn: Flatten, unflatten_fn: Unflatten, **unused: Any) -> None:
    """Register a class as a container: ``flatten_fn(tree) -> (children, context)`` and the inverse.

    Raise ValueError for a class that is registered already.
    """
    if cls in _REGISTRY:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _REGISTRY[cls] = (flatten_fn, unflatten_fn)


def tree_flatten(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves from left to right, and the structure. ``is_leaf`` can stop the descent early."""
    leaves: list[Any] = []
    spec = _flatten(tree, leaves, is_leaf)
    return leaves, spec


def _flatten(tree: PyTree, leaves: list[Any], is_leaf: Callable[[PyTree], bool] | None) -> TreeSpec:
    container = None if is_leaf is not None and is_leaf(tree) else _container(tree)
    if container is None:
        leaves.append(tree)
        return TreeSpec(None, None, [])
    children, context = container[0](tree)
    return TreeSpec(type(tree), context, [_flatten(child, leaves, is_leaf) for child in children])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """Return a tree with this structure. Raise ValueError for too many or too few leaves."""
    given = list(leaves)
    if len(given) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten(leaves, treespec): `leaves` has length {len(given)} but the spec refers to a pytree that "
            f"holds {treespec.num_leaves} items ({treespec})."
        )
    return _unflatten(iter(given), treespec)


def _unflatten(leaves: Any, spec: TreeSpec) -> PyTree:
    if spec.type is None:
        return next(leaves)
    children = [_unflatten(leaves, child) for child in spec.children_specs]
    build = _REGISTRY.get(spec.type, _NAMED_TUPLE)[1]
    return build(children, spec.context)


def tree_iter(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> Iterable[Any]:
    """Yield the leaves from left to right."""
    return iter(tree_leaves(tree, is_leaf))


def tree_leaves(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> list[Any]:
    """Return the leaves from left to right."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None) -> TreeSpec:
    """Return the structure."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> PyTree:
    """Return the tree with ``func`` applied to each leaf, or to the leaves at one position of several trees.

    Raise ValueError if another tree has another structure.
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(_flatten_up_to(spec, rest) for rest in rests)]
    return tree_unflatten([func(*row) for row in zip(*columns, strict=True)], spec)


def _flatten_up_to(spec: TreeSpec, tree: PyTree) -> list[Any]:
    if spec.type is None:
        return [tree]
    if type(tree) is not spec.type:
        raise ValueError(f"Node type mismatch; expected {spec.type}, but got {type(tree)}.")
    container = _container(tree)
    assert container is not None, "it is of the type of a container"
    children, context = container[0](tree)
    if len(children) != len(spec.children_specs):
        raise ValueError(f"Node arity mismatch; expected {len(spec.children_specs)}, but got {len(children)}.")
    if spec.type is dict and context != spec.context:
        children = [tree[key] for key in spec.context]
    return [leaf for child, below in zip(children, spec.children_specs, strict=True)
            for leaf in _flatten_up_to(below, child)]  # fmt: skip


_DICTIONARIES = (dict, OrderedDict, defaultdict)


def _broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec) -> list[Any] | None:
    """Return the leaves of ``tree``, each repeated for every leaf below its place in the structure, or None if it does
    not fit.
    """
    container = _container(tree)
    if container is None:
        return [tree] * treespec.num_leaves
    children, _ = container[0](tree)
    kind, wanted = type(tree), treespec.type
    alike = kind is wanted or (kind in _DICTIONARIES and wanted in _DICTIONARIES)
    if not alike or len(children) != len(treespec.children_specs):
        return None
    specs = treespec.children_specs
    if kind in _DICTIONARIES:
        keys = treespec.context[1] if wanted is defaultdict else treespec.context
        if set(keys) != set(tree):
            return None
        by_key = dict(zip(keys, specs, strict=True))
        specs = [by_key[key] for key in tree]  # in the order of the smaller tree, as in PyTorch
    pairs = zip(children, specs, strict=True)
    found = [_broadcast_to_and_flatten(child, below) for child, below in pairs]
    parts = [part for part in found if part is not None]
    return None if len(parts) < len(found) else [leaf for part in parts for leaf in part]


def tree_map_(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> PyTree:
    """Call ``func`` on each leaf for its effect, and return the tree itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def map_only(wanted: Any) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Decorator: apply a function only to leaves of a type, of one of several types, or that satisfy a predicate."""
    chosen = (lambda leaf: isinstance(leaf, wanted)) if isinstance(wanted, (type, tuple)) else wanted

    def decorate(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda leaf: func(leaf) if chosen(leaf) else leaf

    return decorate


def tree_map_only(
    wanted: Any, func: Callable[[Any], Any], tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> PyTree:
    """Run ``tree_map`` on the leaves of a type only; the others are unchanged."""
    return tree_map(map_only(wanted)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    wanted: Any, func: Callable[[Any], Any], tree: PyTree, is_leaf: Callable[[PyTree], bool] | None = None
) -> PyTree:
    """Run ``tree_map_`` on the leaves of a type only."""
    return tree_map_(map_only(wanted)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree) -> bool:
    """Return whether the predicate holds for all leaves."""
    return all(map(pred, tree_leaves(tree)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree) -> bool:
    """Return whether the predicate holds for any leaf."""
    return any(map(pred, tree_leaves(tree)))


def tree_all_only(wanted: Any, pred: Callable[[Any], bool], tree: PyTree) -> bool:
    """Return whether the predicate holds for all leaves of a type."""
    return all(pred(leaf) for leaf in _only(wanted, tree_leaves(tree)))


def tree_any_only(wanted: Any, pred: Callable[[Any], bool], tree: PyTree) -> bool:
    """Return whether the predicate holds for any leaf of a type."""
    return any(pred(leaf) for leaf in _only(wanted, tree_leaves(tree)))


def _only(wanted: Any, leaves: Sequence[Any]) -> list[Any]:
    return [leaf for leaf in leaves if isinstance(leaf, wanted)]
