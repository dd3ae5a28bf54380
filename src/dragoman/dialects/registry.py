"""Which dialect a model speaks. The one place that knows all families, and by name and marks only: each is imported when used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from typing import Final

from dragoman.dialects.base import Dialect, ModelTraits


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A row of the registry.

    A model belongs to the first family of which it has all: ``marks`` are control tokens of its vocabulary that its template writes,
    ``words`` are other texts of its template, and ``architectures`` are those that its file may name. A row with none of them is spoken
    only when asked for by name. ``builder`` is ``module:function``, and the function takes ``ModelTraits``.
    """

    name: str
    builder: str
    marks: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()

    def fits(self, traits: ModelTraits) -> bool:
        """Whether the model is of this family, as far as its template and its file tell."""
        template = traits.template
        return (
            template is not None
            and bool(self.marks or self.words or self.architectures)
            and all(mark in template and mark in traits.specials for mark in self.marks)
            and all(word in template for word in self.words)
            and (not self.architectures or traits.architecture in self.architectures)
        )


# A family stands before those whose marks it has, too. Behind the last that has any stand those that are asked for by name.
FAMILIES: tuple[Family, ...] = (
    Family(name="glm_5_3", builder="dragoman.dialects.glm:build_5_3", words=("[gMASK]<sop>", "in ['low', 'high']")),
    Family(name="glm", builder="dragoman.dialects.glm:build", words=("<tool_call>", "<arg_key>")),
    Family(
        name="deepseek_v3_2",
        builder="dragoman.dialects.deepseek_dsml:build_v3_2",
        words=("｜DSML｜", "function_calls>"),
    ),
    Family(name="deepseek_v4", builder="dragoman.dialects.deepseek_dsml:build_v4", words=("｜DSML｜", "tool_calls>")),
    Family(name="deepseek_v4_1", builder="dragoman.dialects.deepseek_dsml:build_v4_1", words=("｜DSML｜", " calls>")),
    Family(
        name="deepseek_v3",
        builder="dragoman.dialects.deepseek_v3:build_v3",
        words=("<｜tool▁calls▁begin｜>", "```json"),
    ),
    Family(name="deepseek_v3_1", builder="dragoman.dialects.deepseek_v3:build_v3_1", words=("<｜tool▁calls▁begin｜>",)),
    Family(name="kimi_k3", builder="dragoman.dialects.kimi_k3:build", words=("<|open|>", "<|sep|>")),
    Family(name="kimi_k2", builder="dragoman.dialects.kimi_k2:build", words=("<|tool_calls_section_begin|>",)),
    Family(name="minimax_m3", builder="dragoman.dialects.minimax_m3:build", words=("]<]minimax[>[",)),
    Family(name="minimax_m2", builder="dragoman.dialects.minimax_m2:build", words=("<minimax:tool_call>",)),
    Family(name="mimo", builder="dragoman.dialects.mimo:build", words=("<tool_call><function=",)),
    Family(
        name="qwen3_8",
        builder="dragoman.dialects.qwen_xml:build_3_8",
        words=("<tool_call>", "<function=", "reasoning_effort"),
    ),
    Family(
        name="qwen3_6",
        builder="dragoman.dialects.qwen_xml:build_3_6",
        words=("<tool_call>", "<function=", "preserve_thinking"),
    ),
    Family(name="qwen3_coder", builder="dragoman.dialects.qwen_xml:build_coder", words=("<tool_call>", "<function=")),
    Family(
        name="gpt_oss",
        builder="dragoman.dialects.gpt_oss:build",
        marks=("<|start|>", "<|channel|>", "<|message|>"),
        words=("analysis",),
    ),
    Family(name="gemma4", builder="dragoman.dialects.gemma4:build", marks=("<|turn>", "<turn|>")),
    Family(name="gemma3", builder="dragoman.dialects.gemma3:build", marks=("<start_of_turn>", "<end_of_turn>")),
    Family(
        name="llama4", builder="dragoman.dialects.pythonic:build_llama4", marks=("<|header_start|>", "<|header_end|>")
    ),
    Family(
        name="llama3_pythonic",
        builder="dragoman.dialects.pythonic:build_llama3",
        marks=("<|start_header_id|>", "<|end_header_id|>"),
        words=("[func_name1(",),
    ),
    Family(name="inkling", builder="dragoman.dialects.inkling:build", marks=("<|message_model|>", "<|content_text|>")),
    Family(name="olmoe", builder="dragoman.dialects.olmoe:build", words=("<|assistant|>",), architectures=("olmoe",)),
    Family(name="mistral", builder="dragoman.dialects.mistral:build", marks=("[TOOL_CALLS]",)),
    Family(
        name="granite",
        builder="dragoman.dialects.granite:build",
        marks=("<|start_of_role|>", "<|end_of_role|>"),
        words=("<|tool_call|>",),
    ),
    Family(name="phi", builder="dragoman.dialects.phi:build", marks=("<|tool|>", "<|/tool|>")),
    Family(
        name="llama3",
        builder="dragoman.dialects.llama3:build",
        marks=("<|start_header_id|>", "<|end_header_id|>"),
        words=('"parameters": ',),
    ),
    Family(name="hermes", builder="dragoman.dialects.hermes:build", words=("<tool_call>", "arguments")),
    Family(name="chatml", builder="dragoman.dialects.chatml:build", marks=("<|im_start|>", "<|im_end|>")),
    Family(name="template", builder="dragoman.dialects.generic:build"),
    Family(name="plain", builder="dragoman.dialects.plain:build"),
)


ENDS_OF_THOUGHT: Final = ("</think>",)
"""Texts that end the reasoning of some model, and are one token in most, but no control token."""


def dialect_for(  # noqa: PLR0913 -- each is a fact that the caller has from another place
    *,
    template: str | None,
    specials: tuple[str, ...],
    bos_token: str | None,
    eos_token: str | None,
    architecture: str = "",
    name: str | None = None,
    strict_messages: bool = False,
    special_ids: Mapping[str, int] | None = None,
    single_ids: Mapping[str, int] | None = None,
    clock: Callable[[], datetime],
) -> Dialect:
    """The dialect called ``name``, or the one that fits the model: its family's, else its template's own, else plain.

    ``architecture`` is what the model's file calls its own, ``special_ids`` are the ids of the ``specials``, and
    ``single_ids`` those of ``ENDS_OF_THOUGHT`` that are one token. Raises ``ValueError`` for
    an unknown name, a broken template, and a family that needs a template where there is none.
    """
    traits = ModelTraits(
        template=template,
        specials=specials,
        bos_token=bos_token or "",
        eos_token=eos_token or "",
        architecture=architecture,
        strict_messages=strict_messages,
        clock=clock,
        special_ids=special_ids or {},
        single_ids=single_ids or {},
    )
    return _build(_named(name or _recognised(traits)), traits)


def _recognised(traits: ModelTraits) -> str:
    if traits.template is None:
        return "plain"
    return next((family.name for family in FAMILIES if family.fits(traits)), "template")


def _named(name: str) -> Family:
    for family in FAMILIES:
        if family.name == name:
            return family
    raise ValueError(f"unknown dialect {name!r}; known are {', '.join(family.name for family in FAMILIES)}")


def _build(family: Family, traits: ModelTraits) -> Dialect:
    module, _, function = family.builder.partition(":")
    dialect: Dialect = getattr(import_module(module), function)(traits)
    return dialect
