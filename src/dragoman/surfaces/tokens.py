"""The bodies of /tokenize and /detokenize: vLLM's contract, with llama.cpp's names as well (S54, S55)."""

from __future__ import annotations

from typing import Final

from dragoman.core.errors import Code, InvalidRequest
from dragoman.core.json import Json, JsonObject
from dragoman.core.request import Conversation, Detokenize, TextPrompt, Tokenize
from dragoman.core.results import Detokenized, Tokenized
from dragoman.surfaces.fields import Form, Table, honoured, refused
from dragoman.surfaces.openai_conversation import CONVERSATION, conversation
from dragoman.surfaces.openai_fields import MODEL
from dragoman.surfaces.openai_messages import MESSAGES
from dragoman.surfaces.openai_tool_choice import tooling
from dragoman.surfaces.readers import BOOLEAN, PROMPT_TEXT, Place, Reader, is_token_ids


def _ids(value: Json, at: Place) -> tuple[int, ...]:
    if is_token_ids(value):
        return tuple(value)
    raise at.invalid(TOKEN_IDS.wants, value)


TOKEN_IDS: Final = Reader("an array of token ids", _ids, {"type": "array", "items": {"type": "integer", "minimum": 0}})

PROMPT: Final = honoured("prompt", PROMPT_TEXT, "The text; exactly one of `prompt`, `content` and `messages`.")
CONTENT: Final = honoured("content", PROMPT_TEXT, "llama.cpp's name for `prompt`.")
ADD_SPECIAL_TOKENS: Final = honoured(
    "add_special_tokens", BOOLEAN, "Default true: with the tokens that the model expects around a text, such as BOS."
)
ADD_SPECIAL: Final = honoured("add_special", BOOLEAN, "llama.cpp's name for `add_special_tokens`.")
PARSE_SPECIAL: Final = honoured(
    "parse_special", BOOLEAN, "Default true: the text of a control token in the prompt is that token."
)
RETURN_TOKEN_STRS: Final = honoured("return_token_strs", BOOLEAN, "Default false: with the text of each token.")

TOKENIZE_FIELDS: Final = Table(
    MODEL,
    PROMPT,
    CONTENT,
    MESSAGES,
    ADD_SPECIAL_TOKENS,
    ADD_SPECIAL,
    PARSE_SPECIAL,
    *CONVERSATION,
    RETURN_TOKEN_STRS,
    refused("with_pieces", "send return_token_strs", False),
    refused("chat_template", "a template comes from the model, not from a request"),
)

TOKENS: Final = honoured("tokens", TOKEN_IDS, "The ids.", required=True)
SKIP_SPECIAL_TOKENS: Final = honoured("skip_special_tokens", BOOLEAN, "Default false: control tokens are shown.")
DETOKENIZE_FIELDS: Final = Table(MODEL, TOKENS, SKIP_SPECIAL_TOKENS)


def parse_tokenize(
    body: JsonObject, *, strict: bool = False, continue_assistant: bool = True
) -> tuple[Tokenize, tuple[str, ...]]:
    """The operation, and the fields that had no effect. ``continue_assistant`` is as in ``conversation``, and must be what chat has.

    Raises ``InvalidRequest`` naming the field.
    """
    form = Form(body, TOKENIZE_FIELDS, Place(strict=strict))
    given = [field.name for field in (PROMPT, CONTENT, MESSAGES) if form.has(field)]
    if len(given) != 1:
        raise InvalidRequest(
            "send exactly one of prompt, content and messages",
            code=Code.INVALID_VALUE if given else Code.MISSING_FIELD,
            param=given[-1] if given else PROMPT.name,
        )
    operation = Tokenize(
        source=_source(form, continue_assistant=continue_assistant),
        model=form.read(MODEL, None),
        return_token_strs=form.read(RETURN_TOKEN_STRS, False),
    )
    return operation, form.ignored


def _source(form: Form, *, continue_assistant: bool) -> Conversation | TextPrompt:
    if form.has(MESSAGES):
        _ignore(form, Table(ADD_SPECIAL_TOKENS, ADD_SPECIAL, PARSE_SPECIAL))
        return conversation(form, tooling(form), continue_assistant=continue_assistant)
    _ignore(form, CONVERSATION)
    return TextPrompt(
        text=form.require(PROMPT if form.has(PROMPT) else CONTENT),
        parse_special=form.read(PARSE_SPECIAL, True),
        add_special=form.read(ADD_SPECIAL_TOKENS, form.read(ADD_SPECIAL, True)),
    )


def _ignore(form: Form, table: Table) -> None:
    """Fields of the other kind of source: well-formed all the same, and listed."""
    for row in table:
        form.read(row, None)
        form.ignore(row)


def parse_detokenize(body: JsonObject, *, strict: bool = False) -> tuple[Detokenize, tuple[str, ...]]:
    """The operation, and the fields that had no effect. Raises ``InvalidRequest`` naming the field."""
    form = Form(body, DETOKENIZE_FIELDS, Place(strict=strict))
    operation = Detokenize(
        ids=form.require(TOKENS),
        model=form.read(MODEL, None),
        skip_special_tokens=form.read(SKIP_SPECIAL_TOKENS, False),
    )
    return operation, form.ignored


def tokenized(result: Tokenized) -> JsonObject:
    """The reply of /tokenize; ``token_strs`` only where asked for."""
    reply: dict[str, Json] = {
        "count": len(result.ids),
        "max_model_len": result.context_length,
        "tokens": list(result.ids),
    }
    if result.strs is not None:
        reply["token_strs"] = list(result.strs)
    return reply


def detokenized(result: Detokenized) -> JsonObject:
    """The reply of /detokenize."""
    return {"prompt": result.text}
