"""A loaded model behind the worker's ``Backend``: load, budget, layout, context, description."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np

from dragoman import __version__
from dragoman.engines.backend import Computed
from dragoman.engines.base import IMAGES, EngineInfo
from dragoman.engines.eyes import Patch
from dragoman.engines.llama.budget import Budget, plan_budget
from dragoman.engines.llama.cache import LlamaCache
from dragoman.engines.llama.eyes import LlamaEyes
from dragoman.engines.llama.fingerprint import fingerprint
from dragoman.engines.llama.grammar_compiler import GrammarCompiler
from dragoman.engines.llama.grammar_tokenizer import grammar_tokenizer
from dragoman.engines.llama.library import LoadError, Log, build_info
from dragoman.engines.llama.machine import available_bytes, cpu_model, physical_cores
from dragoman.engines.llama.memo import Memo
from dragoman.engines.llama.model import LlamaModel
from dragoman.engines.llama.projector import Projector, Seen
from dragoman.engines.llama.tuning import VERSION, Trial, Wishes, tune
from dragoman.engines.llama.vocabulary import LlamaVocabulary
from dragoman.scheduler.plan import Copy, Cut, Run
from dragoman.scheduler.prefix_cache import PrefixCache
from dragoman.scheduler.scheduler import Scheduler, SchedulerOptions
from dragoman.scheduler.sequence import Sequence

FEATURES = frozenset(
    {
        "ids",
        "logprobs",
        "echo",
        "seed",
        "top_k",
        "min_p",
        "processors",
        "stop_ids",
        "ignore_eos",
        "tokenize",
        "special",
        "isolation",
        "pin",
        "cancel-in-prefill",
    }
)

DECODE_GAP = 0.25
"""Seconds for which a long prompt may keep others from their next token: about what a reader takes for a word."""

LARGEST_CHUNK = 2048
"""Prompt tokens of a step; more gain nothing any more."""

PROOF_ROWS = 64
"""Prompt tokens that every load computes: enough for the matrix kernels, which single rows never reach."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaOptions:
    """What the command line says. None and ``auto`` let the engine choose."""

    path: Path
    projector: Path | None = None
    name: str | None = None
    context: int | None = None
    slots: int = 16
    cells: int | None = None
    threads: int | None = None
    prefill_chunk: int | None = None
    wishes: Wishes = field(default_factory=Wishes)
    safe_kernels: bool = False
    cache_dir: Path | None = None
    verbose: bool = False


class LlamaEngine:
    """Implements ``engines.backend.Backend``. ``progress`` hears (part done, what is being done). Raises ``LoadError``."""

    def __init__(self, options: LlamaOptions, progress: Callable[[float, str], None]) -> None:
        self._options = options
        self._log = Log(verbose=options.verbose)
        self.model = LlamaModel(
            options.path,
            self._log,
            lambda part: progress(part, "loading the model"),
            safe_kernels=options.safe_kernels,
        )
        self.threads = options.threads or physical_cores()
        self._projector = self._load_projector(progress)
        self.budget = self._plan_budget()
        self.trial = self._tune(lambda part: progress(part, "measuring cache layouts"))
        self._grammars = self._start_grammars()
        self._eyes = self._open_eyes()
        layout = self.trial.layout
        self.prefill_chunk = options.prefill_chunk or self._affordable_chunk()
        widest = max(self.prefill_chunk, 0 if self._projector is None else self._projector.whole)
        rows = widest + options.slots * layout.minimum_rows
        self._cache = LlamaCache(
            self.model.handle,
            layout,
            sequences=options.slots,
            cells=self.budget.cells if layout.unified else self.budget.context + layout.minimum_rows - 1,
            rows=rows,
            threads=self.threads,
        )
        self._prove()

    @property
    def context(self) -> int:
        """Tokens that one sequence may have."""
        return self.budget.context

    @property
    def cache_bytes(self) -> int:
        """Memory that the keys and values of all cells take."""
        return self.budget.cells * self.model.cell_bytes(self.trial.layout.cache_type)

    @property
    def vocabulary(self) -> LlamaVocabulary:
        """The model's vocabulary."""
        return self.model.vocabulary

    @property
    def grammars(self) -> GrammarCompiler:
        """The compiler of grammars, for a vocabulary that announces them."""
        assert self._grammars is not None
        return self._grammars

    @property
    def eyes(self) -> LlamaEyes | None:
        """What it sees with, if a projector was given."""
        return self._eyes

    def edit(self, edits: Iterable[Cut | Copy]) -> None:
        """Cut and copy cache sequences."""
        self._cache.edit(edits)

    def groups(self, runs: tuple[Run, ...]) -> list[tuple[Run, ...]]:
        """Share a step's runs out as the layout computes them best. Each picture is a group of its own, after all text."""
        texts = tuple(run for run in runs if run.content is None)
        return [*self.trial.layout.groups(texts), *((run,) for run in runs if run.content is not None)]

    def compute(self, runs: tuple[Run, ...], working: Callable[[], None]) -> Computed:
        """Compute one group."""
        match runs[0].content:
            case None:
                return self._cache.compute(runs)
            case Patch(content=Seen() as picture) if self._projector is not None:
                return self._cache.see(runs[0], picture, self._projector, working)
            case other:
                raise TypeError(f"{other!r} is no picture of this engine's")

    def interrupt(self) -> None:
        """Make ``compute`` return early."""
        self._cache.interrupt()

    def resume(self) -> None:
        """Forget an interrupt."""
        self._cache.resume()

    @property
    def deterministic(self) -> bool:
        """Whether answers are computed again when they come back in a prompt: the last thing that could change another answer."""
        return self.trial.layout.deterministic and self._options.wishes.deterministic == "on"

    @property
    def _features(self) -> frozenset[str]:
        sees = {IMAGES} if self._eyes else set()
        return FEATURES | self._guarantees | sees | ({"grammar"} if self._grammars else set())

    @property
    def _guarantees(self) -> frozenset[str]:
        """``invariant``: neighbours, chunks and cached prompts change no bit. ``deterministic``: cached answers do not either."""
        invariant = {"invariant"} if self.trial.layout.deterministic else set()
        return frozenset(invariant | ({"deterministic"} if self.deterministic else set()))

    def scheduler(self) -> Scheduler:
        """A scheduler that knows this cache."""
        layout = self.trial.layout
        return Scheduler(
            SchedulerOptions(
                sequences=self._options.slots,
                prefill_chunk=self.prefill_chunk,
                cells=self.budget.cells if layout.unified else None,
                copy_cost=self.trial.copy_cost,
                cuttable=self._cache.can_cut(),
                keep_answers=not self.deterministic,
            ),
            PrefixCache(),
        )

    def info(self) -> EngineInfo:
        """What the gateway should know."""
        layout, build = self.trial.layout, build_info()
        return EngineInfo(
            model=self._options.name or self.model.name,
            description=self.model.description,
            context_length=self.context,
            vocabulary_size=self.vocabulary.size,
            slots=self._options.slots,
            architecture=self.model.metadata("general.architecture") or "",
            chat_template=self.model.chat_template,
            special_tokens=self.vocabulary.specials,
            bos_token=self.vocabulary.bos,
            eos_token=self.vocabulary.eos,
            features=self._features,
            fill_in=self.vocabulary.fill_in,
            fingerprint=fingerprint(
                weights=self._weights,
                build={**build, "dragoman": __version__, "numpy": np.__version__, "llguidance": version("llguidance")},
                layout=layout,
                threads=self.threads,
                safe_kernels=self._options.safe_kernels,
                guarantees=self._guarantees,
            ),
            build={
                **build,
                "layout": str(layout),
                "threads": str(self.threads),
                "cells": str(self.budget.cells),
                "minimum_rows": str(layout.minimum_rows),
                "prefill_chunk": str(self.prefill_chunk),
                "kernels": "safe" if self._options.safe_kernels else "all",
                **({} if self._options.projector is None else {"projector": self._options.projector.name}),
            },
        )

    @property
    def _weights(self) -> str:
        return "-".join([self.model.fingerprint, *([self._projector.fingerprint] if self._projector else [])])

    def _load_projector(self, progress: Callable[[float, str], None]) -> Projector | None:
        """Before memory is counted for the cache."""
        path = self._options.projector
        if path is None:
            return None
        progress(0.0, "loading the projector")
        projector = Projector(path, self.model.handle, self._log, threads=self.threads)
        projector.prove()
        return projector

    def _open_eyes(self) -> LlamaEyes | None:
        """Where the parts of a picture look at one another, a micro-batch must hold all of it; what was measured with others is then void."""
        if self._projector is None:
            return None
        layout, whole = self.trial.layout, self._projector.whole
        if whole > layout.micro_batch:
            self.trial = replace(self.trial, layout=replace(layout, micro_batch=whole, deterministic=False))
        return LlamaEyes(self._projector, limit=self.trial.layout.micro_batch if whole else None)

    def _start_grammars(self) -> GrammarCompiler | None:
        """After the measurements, which its threads would disturb. None where nothing could end a sentence."""
        if not self.vocabulary.end_tokens:
            return None
        return GrammarCompiler(partial(grammar_tokenizer, self.vocabulary), self.vocabulary.size)

    def _plan_budget(self) -> Budget:
        """Memory is counted after the weights are loaded."""
        wishes, options = self._options.wishes, self._options
        cell_bytes = self.model.cell_bytes("f16" if wishes.cache_type == "auto" else wishes.cache_type)
        available = available_bytes()
        budget = plan_budget(
            trained=self.model.trained_context,
            slots=options.slots,
            cell_bytes=cell_bytes,
            available=available,
            context=options.context,
            cells=options.cells,
        )
        if budget is None:
            raise LoadError(
                "nomem",
                f"the cache does not fit: a token needs {cell_bytes:,} bytes, and {available or 0:,} bytes are free; "
                "give a smaller --context or fewer --slots",
            )
        if wishes.layout == "split" and not budget.split_fits:
            raise LoadError("nomem", f"a split cache of {options.slots} times {budget.context} tokens does not fit")
        return budget

    def _prove(self) -> None:
        """Read a short prompt, also when nothing has to be measured: a bad build dies here, and not of a user's first request."""
        count = min(PROOF_ROWS, self.prefill_chunk, self.context)
        proof = Sequence(id=0, prompt=tuple(index % self.vocabulary.size for index in range(count)), limit=0)
        self._cache.compute((Run(proof, 0, 0, proof.prompt, last=True),))
        self._cache.edit([Cut(0, 0)])

    def _affordable_chunk(self) -> int:
        """As many whole micro-batches as can be read while others wait ``DECODE_GAP`` for their next token."""
        whole = self.trial.layout.micro_batch
        affordable = round(DECODE_GAP * self.trial.prefill_tokens_per_second / whole)
        return min(max(1, affordable) * whole, LARGEST_CHUNK)

    def _tune(self, progress: Callable[[float], None]) -> Trial:
        options = self._options
        path = options.cache_dir / "tuning.json" if options.cache_dir else None
        kernels = ("safe kernels",) if options.safe_kernels else ()
        facts = (str(build_info()), cpu_model(), str(self.threads), str(self.budget.split_fits), *kernels)
        memo = Memo(path, VERSION, self.model.fingerprint, *facts)
        try:
            return tune(
                self.model.handle,
                options.wishes,
                memo,
                split_fits=self.budget.split_fits,
                threads=self.threads,
                progress=progress,
            )
        except ValueError as error:
            raise LoadError("unsupported", str(error)) from None
