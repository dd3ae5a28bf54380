"""What is computed together, by the two kinds of rows whose numbers are the same however they are cut up."""

from __future__ import annotations

from dragoman.engines.llama.layout import Layout
from dragoman.scheduler.plan import Run
from dragoman.scheduler.sequence import Sequence

SPLIT = Layout(unified=False, flash_attention=False, cache_type="f16")


def run(id: int, *, start: int, count: int = 1, read: int = 0) -> Run:
    """Of a sequence with a prompt of ten tokens."""
    sequence = Sequence(id=id, prompt=(0,) * 10, limit=99, read=read)
    return Run(sequence, id, start, (0,) * count, last=True)


def groups(layout: Layout, *runs: Run) -> list[list[int]]:
    return [[run.sequence.id for run in group] for group in layout.groups(runs)]


def test_a_split_cache_decodes_first_and_then_reads_prompts_and_what_a_grammar_forced() -> None:
    runs = (
        run(1, start=12),
        run(2, start=0, count=10),
        run(3, start=11, count=5, read=16),
        run(4, start=15, read=16),  # one row of a piece that chance cut so is computed as the whole piece is
        run(5, start=16, read=16),
    )
    assert groups(SPLIT, *runs) == [[1, 5], [2, 3, 4]]


def test_a_unified_cache_computes_all_at_once() -> None:
    unified = Layout(unified=True, flash_attention=False, cache_type="f16")
    assert groups(unified, run(1, start=12), run(2, start=0, count=10)) == [[1, 2]]


def test_a_step_without_runs_has_no_groups() -> None:
    assert groups(SPLIT) == []
