"""The prefix tree against a dictionary of whole token lists, which is compared token by token."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from dragoman.scheduler.prefix_cache import PrefixCache

NAMESPACES = ("", "a", "b")
SEQUENCES = 5
sequences = st.integers(0, SEQUENCES - 1)
namespaces = st.sampled_from(NAMESPACES)
# Two letters and short runs of them: prefixes meet, part and end inside edges all the time.
tokens = st.lists(st.sampled_from([(0,), (1,), (0, 0, 1), (1, 1, 1, 0)]), max_size=5).map(lambda runs: sum(runs, ()))


class PrefixCacheMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.cache = PrefixCache()
        self.model: dict[int, tuple[str, tuple[int, ...]]] = {}
        self.seen: set[tuple[int, ...]] = {(), (0,), (1,), (2,)}

    @rule(seq_id=sequences, held=tokens, namespace=namespaces)
    def insert(self, seq_id, held, namespace) -> None:
        self.cache.insert(seq_id, held, namespace)
        self.model[seq_id] = (namespace, held)
        self.seen.add(held)

    @rule(seq_id=sequences, source=sequences, more=tokens, data=st.data())
    def branch(self, seq_id, source, more, data) -> None:
        """What a follow-up does: a part of another sequence, and something new."""
        namespace, held = self.model.get(source, ("", ()))
        self.insert(seq_id, held[: data.draw(st.integers(0, len(held)))] + more, namespace)

    @rule(seq_id=sequences, length=st.integers(0, 12))
    def truncate(self, seq_id, length) -> None:
        self.cache.truncate(seq_id, length)
        if seq_id in self.model:
            namespace, held = self.model[seq_id]
            self.model[seq_id] = (namespace, held[:length])

    @rule(seq_id=sequences)
    def remove(self, seq_id) -> None:
        self.cache.remove(seq_id)
        self.model.pop(seq_id, None)

    @rule(wanted=tokens)
    def ask(self, wanted) -> None:
        self._compare(wanted)

    @invariant()
    def everything_that_was_ever_held_is_matched_as_the_model_says(self) -> None:
        for seq_id in range(SEQUENCES):
            assert self.cache.held(seq_id) == self.model.get(seq_id, ("", ()))[1]
        for wanted in self.seen:
            self._compare(wanted)

    def _compare(self, wanted: tuple[int, ...]) -> None:
        for namespace in NAMESPACES:
            expected = {}
            for seq_id, (owner, held) in self.model.items():
                shared = 0
                while shared < min(len(held), len(wanted)) and held[shared] == wanted[shared]:
                    shared += 1
                if owner == namespace and shared:
                    expected[seq_id] = shared
            found = self.cache.match(wanted, namespace)
            assert [match.length for match in found] == sorted(expected.values(), reverse=True)
            assert {match.seq_id: match.length for match in found} == expected

    def teardown(self) -> None:
        for seq_id in range(SEQUENCES):
            self.cache.remove(seq_id)
        assert not self.cache._roots, "an empty cache keeps nodes"


TestPrefixCache = PrefixCacheMachine.TestCase
TestPrefixCache.settings = settings(max_examples=80, stateful_step_count=25, deadline=None)
