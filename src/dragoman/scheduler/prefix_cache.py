"""A radix tree over token ids that knows which cache sequence holds which prefix.

It stores no keys and values, only who has them: each node's edge is a run of tokens, and each node lists the
sequences whose tokens run through it. Reuse can be wrong silently, so this is all that it does. Prefixes of different
namespaces (a caller's isolation key, an adapter) never meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Match:
    """A cache sequence, and how many leading tokens it shares with what was asked for."""

    seq_id: int
    length: int


@dataclass(slots=True, eq=False)
class _Node:
    edge: tuple[int, ...]
    children: dict[int, _Node] = field(default_factory=dict)
    sequences: set[int] = field(default_factory=set)


class PrefixCache:
    """Which sequences hold which tokens. Every method is linear in the tokens that it is given."""

    def __init__(self) -> None:
        self._roots: dict[str, _Node] = {}
        self._held: dict[int, tuple[str, tuple[int, ...]]] = {}

    def held(self, seq_id: int) -> tuple[int, ...]:
        """The tokens that were inserted for a sequence; empty for one that holds none."""
        return self._held[seq_id][1] if seq_id in self._held else ()

    def namespace(self, seq_id: int) -> str:
        """Whose tokens a sequence holds; empty for one that holds none."""
        return self._held[seq_id][0] if seq_id in self._held else ""

    def match(self, tokens: Sequence[int], namespace: str = "") -> list[Match]:
        """Every sequence that shares a prefix with ``tokens``, longest first, each once."""
        node = self._roots.get(namespace)
        wanted = tuple(tokens)
        depth = 0
        lengths: dict[int, int] = {}
        while node is not None and depth < len(wanted):
            child = node.children.get(wanted[depth])
            if child is None:
                break
            shared = _common(child.edge, wanted[depth : depth + len(child.edge)])
            depth += shared
            lengths.update(dict.fromkeys(child.sequences, depth))
            node = child if shared == len(child.edge) else None
        return [Match(seq_id, length) for seq_id, length in sorted(lengths.items(), key=lambda item: -item[1])]

    def insert(self, seq_id: int, tokens: Sequence[int], namespace: str = "") -> None:
        """Say that ``seq_id`` now holds exactly ``tokens``, whatever it held before."""
        self.remove(seq_id)
        kept = tuple(tokens)
        if not kept:
            return
        self._held[seq_id] = (namespace, kept)
        node = self._roots.setdefault(namespace, _Node(()))
        node.sequences.add(seq_id)
        depth = 0
        while depth < len(kept):
            child = node.children.get(kept[depth])
            if child is None:
                child = node.children[kept[depth]] = _Node(kept[depth:])
            shared = _common(child.edge, kept[depth : depth + len(child.edge)])
            if shared < len(child.edge):
                child = _split(node, child, shared)
            child.sequences.add(seq_id)
            node = child
            depth += shared

    def truncate(self, seq_id: int, length: int) -> None:
        """Say that ``seq_id`` now holds only its first ``length`` tokens."""
        if seq_id in self._held:
            namespace, tokens = self._held[seq_id]
            if length < len(tokens):
                self.insert(seq_id, tokens[:length], namespace)

    def remove(self, seq_id: int) -> None:
        """Say that ``seq_id`` holds nothing. No effect on one that holds nothing."""
        if seq_id not in self._held:
            return
        namespace, tokens = self._held.pop(seq_id)
        root = self._roots[namespace]
        root.sequences.discard(seq_id)
        if not root.sequences:
            del self._roots[namespace]
            return
        node, depth = root, 0
        while depth < len(tokens):
            parent, node = node, node.children[tokens[depth]]
            node.sequences.discard(seq_id)
            if not node.sequences:
                del parent.children[tokens[depth]]
                return
            depth += len(node.edge)


class NoReuse(PrefixCache):
    """The off switch: nothing is ever shared."""

    def match(self, tokens: Sequence[int], namespace: str = "") -> list[Match]:  # noqa: ARG002  (the parent's signature)
        """Nothing matches."""
        return []


def _common(left: tuple[int, ...], right: tuple[int, ...]) -> int:
    """Length of the common prefix: halving, since comparing two slices is much faster than a Python loop."""
    low, high = 0, min(len(left), len(right))
    if left[:high] == right[:high]:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _split(parent: _Node, child: _Node, at: int) -> _Node:
    """Cut a child's edge in two, and return the upper node."""
    upper = _Node(child.edge[:at], {child.edge[at]: child}, set(child.sequences))
    parent.children[upper.edge[0]] = upper
    child.edge = child.edge[at:]
    return upper
