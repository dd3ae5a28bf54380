"""What the fields beside ``messages`` say of a conversation: its tools, how the prompt ends, and how the model shall think.

Chat Completions and /tokenize read a conversation here and nowhere else, so a count is of the prompt that is answered (S54).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from dragoman.core.errors import Code, InvalidRequest, Unsupported
from dragoman.core.json import Json
from dragoman.core.limits import MAX_TOKENS
from dragoman.core.request import Conversation, Message, Role, Thinking
from dragoman.surfaces.fields import Form, Table, honoured
from dragoman.surfaces.openai_messages import MESSAGES
from dragoman.surfaces.openai_tool_choice import TOOLING, Tooling
from dragoman.surfaces.readers import BOOLEAN, OBJECT, TEXT, Place, Reader, integer

EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""OpenAI's ``ReasoningEffort``, and the ``max`` that some models' templates know (S62)."""


def _effort(value: Json, at: Place) -> str:
    if TEXT.read(value, at) in EFFORTS:
        return str(value)
    raise at.wrong(f"{at.path} must be {EFFORT_NAMES.wants}")


EFFORT_NAMES: Final = Reader(f"one of {', '.join(EFFORTS)}", _effort, {"enum": list(EFFORTS)})

ADD_GENERATION_PROMPT: Final = honoured(
    "add_generation_prompt",
    BOOLEAN,
    "Default true: the prompt ends where the assistant's turn begins. True also keeps a last assistant message from being "
    "continued.",
)
CONTINUE_FINAL_MESSAGE: Final = honoured(
    "continue_final_message",
    BOOLEAN,
    "The answer goes on inside the last message, an assistant's, from its last character on; splitting a word there changes "
    "what comes next (S49, S67). Default true for a last message of the assistant (S64).",
)
CHAT_TEMPLATE_KWARGS: Final = honoured(
    "chat_template_kwargs", OBJECT, "Variables for the model's chat template; they win over the fields below."
)
ENABLE_THINKING: Final = honoured(
    "enable_thinking", BOOLEAN, "Whether the model thinks before it answers, where its template lets one choose (S61)."
)
REASONING_EFFORT: Final = honoured(
    "reasoning_effort", EFFORT_NAMES, "How much the model thinks; all but `none` turn thinking on (S62)."
)
PRESERVE_THINKING: Final = honoured(
    "preserve_thinking", BOOLEAN, "Whether earlier turns keep their `reasoning_content` in the prompt (S63)."
)

THINKING_TOKEN_BUDGET: Final = honoured(
    "thinking_token_budget",
    integer(-1, MAX_TOKENS),
    "At most so many tokens of reasoning, where one token can end it at any place; -1 is no bound. vLLM's name for it.",
)
THINKING_BUDGET_TOKENS: Final = honoured(
    "thinking_budget_tokens", integer(-1, MAX_TOKENS), "llama.cpp's name for `thinking_token_budget`, which wins."
)

CONVERSATION: Final = Table(
    *TOOLING,
    ADD_GENERATION_PROMPT,
    CONTINUE_FINAL_MESSAGE,
    CHAT_TEMPLATE_KWARGS,
    ENABLE_THINKING,
    REASONING_EFFORT,
    PRESERVE_THINKING,
    THINKING_TOKEN_BUDGET,
    THINKING_BUDGET_TOKENS,
)
"""The rows that ``tooling`` and ``conversation`` read, beside ``MESSAGES``."""

CONVERSATION_SPELLING: Final[Mapping[str, str]] = MappingProxyType(
    {
        "template_args": CHAT_TEMPLATE_KWARGS.name,
        "continue_final": CONTINUE_FINAL_MESSAGE.name,
        "thinking_budget": THINKING_TOKEN_BUDGET.name,
    }
)
"""Features of a conversation that a dialect may name, where a client spells them otherwise."""


def thinking_budget(form: Form) -> int | None:
    """Tokens of reasoning at most, by either name."""
    budget = form.read(THINKING_TOKEN_BUDGET, form.read(THINKING_BUDGET_TOKENS, -1))
    if form.has(THINKING_TOKEN_BUDGET):
        form.ignore(THINKING_BUDGET_TOKENS)
    return None if budget < 0 else budget


def conversation(form: Form, tooling: Tooling, *, continue_assistant: bool = True) -> Conversation:
    """The conversation of a body whose table has ``MESSAGES`` and the rows of ``CONVERSATION``; ``tooling`` is of the same body.

    ``continue_assistant`` is the server's choice for a last assistant message of which the request says nothing: continue it
    (S64), or answer in a new turn. Raises ``InvalidRequest`` naming the field, also for what cannot be continued (S65).
    """
    transcript = form.require(MESSAGES)
    cue = form.read(ADD_GENERATION_PROMPT, None)
    asked = form.read(CONTINUE_FINAL_MESSAGE, transcript.prefix)
    last = transcript.messages[-1]
    if asked and cue:
        raise _wrong(CONTINUE_FINAL_MESSAGE.name, "cannot go together with add_generation_prompt")
    if asked and last.role is not Role.ASSISTANT:
        raise _wrong(CONTINUE_FINAL_MESSAGE.name, "needs a last message of the assistant")
    if asked is None:
        asked = continue_assistant and not cue and last.role is Role.ASSISTANT
    if asked:
        check_continuable(
            transcript.messages,
            path=f"{MESSAGES.name}.{len(transcript.messages) - 1}",
            tools_field=tooling.spelling["tools"] if tooling.tools else None,
        )
    return Conversation(
        messages=transcript.messages,
        tools=tooling.tools,
        tool_choice=tooling.choice,
        add_generation_prompt=True if cue is None else cue,
        continue_final=asked,
        thinking=Thinking(
            enabled=form.read(ENABLE_THINKING, None),
            effort=form.read(REASONING_EFFORT, None),
            preserve=form.read(PRESERVE_THINKING, None),
            budget=thinking_budget(form),
        ),
        template_args=form.read(CHAT_TEMPLATE_KWARGS, {}),
    )


def check_continuable(messages: Sequence[Message], *, path: str, tools_field: str | None) -> None:
    """Whether an answer can go on inside the last message, an assistant's, which stands at ``path``.

    ``tools_field`` is where the client offered tools, if it did. Raises ``InvalidRequest`` naming the field, and ``Unsupported`` beside
    tools or after calls (S65).
    """
    last = messages[-1]
    if tools_field is not None:
        raise Unsupported(
            f"{tools_field} cannot be offered while {path} is continued: a call may begin only where an answer begins",
            code=Code.UNSUPPORTED_FIELD,
            param=tools_field,
        )
    if last.tool_calls:
        raise Unsupported(
            f"{path}.tool_calls: a message that calls tools cannot be continued; answer its calls",
            code=Code.UNSUPPORTED_VALUE,
            param=f"{path}.tool_calls",
        )
    if len(messages) == 1:
        raise _wrong(MESSAGES.name, "hold an assistant's message alone: there is nothing that it could answer")
    if not last.text.strip():
        raise _wrong(f"{path}.content", "is empty, so there is nothing to continue")
    if last.text[-1].isspace():
        # Templates trim it, so the model would go on from other text than the client sent.
        raise _wrong(f"{path}.content", "ends in white space, and an answer cannot be continued from there")


def _wrong(param: str, message: str) -> InvalidRequest:
    return InvalidRequest(f"{param} {message}", code=Code.INVALID_VALUE, param=param)
