"""Grammars compiled beside the model: on threads of their own, once for each text, within a time.

The tokenizer that llguidance needs is made on the first of these threads as soon as it starts; who comes earlier waits, and nobody else.
llguidance bounds the work of each call by itself (``LIMITS``), and nesting too. But it recurses over chains of rules, of which a text may
have tens of thousands, so these threads have a stack that holds the longest chain that ``MAX_GRAMMAR_BYTES`` can spell.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final, TypeAlias

from llguidance import LLMatcher, LLParserLimits, LLTokenizer

from dragoman.engines.backend import BadGrammar, Compiled
from dragoman.engines.llama.grammar import Ceilings, MatcherConstraint, check

THREADS: Final = 2
"""So that one that is slow to compile does not keep the others waiting."""

STACK_BYTES: Final = 256 * 1024 * 1024
"""Address space, of which only what is used becomes memory. The longest chain of rules that was tried needs between 64 and 128 MiB."""

PATIENCE: Final = 10.0
"""Seconds from the request to the compiled grammar. An object of 5,000 properties takes 6, real tools a few thousandths."""

KEPT: Final = 64
"""Compiled grammars, the latest used."""

LIMITS: Final = LLParserLimits(max_lexer_states=50_000, initial_lexer_fuel=10_000_000, verbose_errors=False)
"""llguidance's own, but for the memory of one grammar, at most 100 MB where its default is 500, and for the time to begin one: a fifth of
a second where its default is a fiftieth, which 128 tools of twenty arguments exceed."""

_Done: TypeAlias = Callable[[Compiled], None]


class GrammarCompiler:
    """Implements ``engines.backend.Grammars``. ``tokenizer`` makes the one that masks are for, with ``vocabulary_size`` tokens."""

    def __init__(
        self, tokenizer: Callable[[], LLTokenizer], vocabulary_size: int, *, patience: float = PATIENCE
    ) -> None:
        self._make_tokenizer = tokenizer
        self._patience = patience
        self._ceilings = Ceilings(vocabulary_size)
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, LLMatcher] = OrderedDict()
        self._waiting: dict[str, list[_Waiter]] = {}
        self._texts: SimpleQueue[str] = SimpleQueue()
        self._tokenizer: LLTokenizer | None = None
        self._making = threading.Lock()
        self._start()

    def compile(self, grammar: str, done: _Done) -> None:
        with self._lock:
            matcher = self._kept.get(grammar)
            if matcher is None:
                waiter = _Waiter(done, self._patience)
                new = grammar not in self._waiting
                self._waiting.setdefault(grammar, []).append(waiter)
                if new:
                    self._texts.put(grammar)
                return
            self._kept.move_to_end(grammar)
        done(self._constraint(matcher))

    def _start(self) -> None:
        """Start the threads. The size of a stack can be set for all threads to come alone, so it is put back."""
        before = threading.stack_size(STACK_BYTES)
        try:
            for _ in range(THREADS):
                threading.Thread(target=self._work, name="grammars", daemon=True).start()
        finally:
            threading.stack_size(before)

    def _work(self) -> None:
        self._ready_tokenizer()
        while True:
            grammar = self._texts.get()
            compiled = self._compile(grammar)
            with self._lock:
                waiters = self._waiting.pop(grammar)
                if isinstance(compiled, LLMatcher):
                    self._keep(grammar, compiled)
            for waiter in waiters:
                waiter.answer(compiled if isinstance(compiled, BadGrammar) else self._constraint(compiled))

    def _compile(self, grammar: str) -> LLMatcher | BadGrammar:
        """Also computes the first mask: it is the dearest, and some texts fail only there."""
        matcher = LLMatcher(self._ready_tokenizer(), LLMatcher.grammar_from_lark(grammar), log_level=0, limits=LIMITS)
        try:
            check(matcher)
            matcher.compute_bitmask()
            check(matcher)
        except BadGrammar as error:
            return error
        return matcher

    def _ready_tokenizer(self) -> LLTokenizer:
        with self._making:
            if self._tokenizer is None:
                self._tokenizer = self._make_tokenizer()
            return self._tokenizer

    def _keep(self, grammar: str, matcher: LLMatcher) -> None:
        self._kept[grammar] = matcher
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    def _constraint(self, matcher: LLMatcher) -> MatcherConstraint:
        """A copy each: a matcher that is kept never goes on."""
        return MatcherConstraint(matcher.deep_copy(), self._ceilings)


class _Waiter:
    """Somebody to be told once: what was compiled, or that it took too long. The compiler then goes on for those who ask again."""

    def __init__(self, done: _Done, patience: float) -> None:
        self._done = done
        self._lock = threading.Lock()
        self._told = False
        late = BadGrammar(f"it is too complex: it was not compiled within {patience:g} s")
        self._timer = threading.Timer(patience, self.answer, (late,))
        self._timer.daemon = True
        self._timer.start()

    def answer(self, compiled: Compiled) -> None:
        """Tell it, the first time."""
        self._timer.cancel()
        with self._lock:
            told, self._told = self._told, True
        if not told:
            self._done(compiled)
