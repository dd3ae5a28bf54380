"""One wish in the words of each surface, and each surface's answer in the same words: so that they can be compared.

What an answer says is read of its object and of its stream, which must agree.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from support.asgi import Exchange
from support.house import House

Body = dict[str, Any]

PATHS = {
    "chat": "/v1/chat/completions",
    "completions": "/v1/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """``prompt`` is all of it, ``cached`` the part of it that was known; ``reasoning`` is a part of ``completion``."""

    prompt: int
    cached: int
    completion: int
    reasoning: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """An answer. ``finish`` is ``stop``, ``length`` or ``calls``; ``native`` is its object as it came."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    finish: str
    usage: Usage
    native: Any = field(compare=False)
    headers: Mapping[str, str] = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """``before`` are the turns before the ``words`` of the user: whose, and the text. ``prefill`` begins the answer.

    ``heard`` is an answer to the words, given back as it came with a result for each of its calls. ``same`` are fields that all
    surfaces call alike.
    """

    words: str = "hello"
    system: str | None = None
    before: tuple[tuple[str, str], ...] = ()
    prefill: str | None = None
    heard: Heard | None = None
    results: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    strict: bool = False
    choice: str | None = None
    parallel: bool = True
    budget: int | None = None
    stop: tuple[str, ...] = ()
    schema: Body | None = None
    any_object: bool = False
    effort: str | None = None
    think: bool | None = None
    thought: str | None = None
    same: Body = field(default_factory=dict)


async def ask(house: House, surface: str, **wish: Any) -> Heard:
    """The answer to a wish, once whole and once in a stream."""
    body = body_of(surface, Wish(**wish))
    whole = await house.client.post(PATHS[surface], body)
    assert whole.status == 200, whole.body
    stream = await house.client.post(PATHS[surface], {**body, **_STREAMED[surface]})
    assert stream.status == 200, stream.body
    heard = _WHOLE[surface](whole.json(), whole)
    told = _FOLDED[surface](stream)
    # The second one finds the prompt of the first in the cache.
    assert (told.text, told.reasoning, told.calls, told.finish) == (
        heard.text,
        heard.reasoning,
        heard.calls,
        heard.finish,
    )
    assert (told.usage.prompt, told.usage.completion) == (heard.usage.prompt, heard.usage.completion)
    return heard


def body_of(surface: str, wish: Wish) -> Body:
    """The body of a request, without ``stream``."""
    return {name: value for name, value in _BODIES[surface](wish).items() if value is not None} | wish.same


def _parameters(strict: bool) -> Body:
    schema: Body = {"type": "object", "properties": {"city": {"type": "string"}}}
    return {**schema, "required": ["city"], "additionalProperties": False} if strict else schema


# --- Chat Completions ------------------------------------------------------------------------------------------------


def _chat_body(wish: Wish) -> Body:
    messages: list[Body] = [{"role": "system", "content": wish.system}] if wish.system else []
    messages += [{"role": role, "content": text} for role, text in wish.before]
    messages.append({"role": "user", "content": wish.words})
    if wish.thought:
        messages.append({"role": "assistant", "content": "Well.", "reasoning_content": wish.thought})
        messages.append({"role": "user", "content": "And?"})
    if wish.heard:
        message = wish.heard.native["choices"][0]["message"]
        messages.append(message)
        messages += [
            {"role": "tool", "tool_call_id": call["id"], "content": result}
            for call, result in zip(message["tool_calls"], wish.results, strict=True)
        ]
    if wish.prefill:
        messages.append({"role": "assistant", "content": wish.prefill})
    return {
        "messages": messages,
        "tools": [
            {
                "type": "function",
                "function": {"name": name, "parameters": _parameters(wish.strict), "strict": wish.strict},
            }
            for name in wish.tools
        ]
        or None,
        "tool_choice": wish.choice
        if wish.choice in (None, "auto", "required", "none")
        else {"type": "function", "function": {"name": wish.choice}},
        "parallel_tool_calls": None if wish.parallel else False,
        "max_completion_tokens": wish.budget,
        "stop": list(wish.stop) or None,
        "response_format": _chat_format(wish),
        "reasoning_effort": wish.effort,
        "enable_thinking": wish.think,
    }


def _chat_format(wish: Wish) -> Body | None:
    if wish.schema is not None:
        return {"type": "json_schema", "json_schema": {"name": "x", "schema": wish.schema}}
    return {"type": "json_object"} if wish.any_object else None


_OPENAI_FINISH = {"stop": "stop", "length": "length", "tool_calls": "calls"}


def _openai_usage(usage: Body) -> Usage:
    return Usage(
        prompt=usage["prompt_tokens"],
        cached=usage["prompt_tokens_details"]["cached_tokens"],
        completion=usage["completion_tokens"],
        reasoning=usage["completion_tokens_details"]["reasoning_tokens"],
    )


def _chat_whole(answer: Body, reply: Exchange) -> Heard:
    choice = answer["choices"][0]
    message = choice["message"]
    calls = (call["function"] for call in message.get("tool_calls", ()))
    return Heard(
        text=message["content"] or "",
        reasoning=message.get("reasoning_content", ""),
        calls=tuple((call["name"], call["arguments"]) for call in calls),
        finish=_OPENAI_FINISH[choice["finish_reason"]],
        usage=_openai_usage(answer["usage"]),
        native=answer,
        headers=reply.headers,
    )


def _chat_folded(reply: Exchange) -> Heard:
    chunks = reply.data[:-1]
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    deltas = [choice["delta"] for choice in choices]
    calls: list[list[str]] = []
    for part in (part for delta in deltas for part in delta.get("tool_calls", ())):
        if part["index"] == len(calls):
            calls.append([part["function"]["name"], ""])
        calls[part["index"]][1] += part["function"]["arguments"]
    return Heard(
        text="".join(delta.get("content") or "" for delta in deltas),
        reasoning="".join(delta.get("reasoning_content", "") for delta in deltas),
        calls=tuple((name, arguments) for name, arguments in calls),
        finish=_OPENAI_FINISH[choices[-1]["finish_reason"]],
        usage=_openai_usage(chunks[-1]["usage"]),
        native=None,
        headers=reply.headers,
    )


# --- Completions -----------------------------------------------------------------------------------------------------


def _completions_body(wish: Wish) -> Body:
    return {
        "prompt": wish.words,
        "max_tokens": wish.budget,
        "stop": list(wish.stop) or None,
        "response_format": _chat_format(wish),
    }


def _completions_whole(answer: Body, reply: Exchange) -> Heard:
    choice = answer["choices"][0]
    return Heard(
        text=choice["text"],
        finish=_OPENAI_FINISH[choice["finish_reason"]],
        usage=_openai_usage(answer["usage"]),
        native=answer,
        headers=reply.headers,
    )


def _completions_folded(reply: Exchange) -> Heard:
    chunks = reply.data[:-1]
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    return Heard(
        text="".join(choice["text"] for choice in choices),
        finish=_OPENAI_FINISH[choices[-1]["finish_reason"]],
        usage=_openai_usage(chunks[-1]["usage"]),
        native=None,
        headers=reply.headers,
    )


# --- Responses -------------------------------------------------------------------------------------------------------


def _responses_body(wish: Wish) -> Body:
    items: list[Body] = [{"role": role, "content": text} for role, text in (*wish.before, ("user", wish.words))]
    if wish.thought:
        items.append(
            {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": wish.thought}]}
        )
        items += [{"role": "assistant", "content": "Well."}, {"role": "user", "content": "And?"}]
    if wish.heard:
        output = wish.heard.native["output"]
        called = [item for item in output if item["type"] == "function_call"]
        items += output
        items += [
            {"type": "function_call_output", "call_id": call["call_id"], "output": result}
            for call, result in zip(called, wish.results, strict=True)
        ]
    wanted = _responses_format(wish)
    return {
        "input": items,
        "instructions": wish.system,
        "store": False,
        "tools": [
            {"type": "function", "name": name, "parameters": _parameters(wish.strict), "strict": wish.strict}
            for name in wish.tools
        ]
        or None,
        "tool_choice": wish.choice
        if wish.choice in (None, "auto", "required", "none")
        else {"type": "function", "name": wish.choice},
        "parallel_tool_calls": None if wish.parallel else False,
        "max_output_tokens": wish.budget,
        "stop": list(wish.stop) or None,
        "text": {"format": wanted} if wanted else None,
        "reasoning": {"effort": wish.effort} if wish.effort else None,
        "enable_thinking": wish.think,
    }


def _responses_format(wish: Wish) -> Body | None:
    if wish.schema is not None:
        return {"type": "json_schema", "name": "x", "schema": wish.schema}
    return {"type": "json_object"} if wish.any_object else None


def _parts(items: Iterable[Body], kind: str, name: str) -> str:
    return "".join(part["text"] for item in items if item["type"] == kind for part in item[name])


def _responses_whole(answer: Body, reply: Exchange) -> Heard:
    output = answer["output"]
    usage = answer["usage"]
    calls = tuple((item["name"], item["arguments"]) for item in output if item["type"] == "function_call")
    ended = "calls" if calls else "stop"
    return Heard(
        text=_parts(output, "message", "content"),
        reasoning=_parts(output, "reasoning", "content"),
        calls=calls,
        finish={"completed": ended, "incomplete": "length"}[answer["status"]],
        usage=Usage(
            prompt=usage["input_tokens"],
            cached=usage["input_tokens_details"]["cached_tokens"],
            completion=usage["output_tokens"],
            reasoning=usage["output_tokens_details"]["reasoning_tokens"],
        ),
        native=answer,
        headers=reply.headers,
    )


def _responses_folded(reply: Exchange) -> Heard:
    """Out of the last event, which the order's checker holds against all that came before."""
    return _responses_whole(reply.data[-2]["response"], reply)


# --- Messages --------------------------------------------------------------------------------------------------------


def _messages_body(wish: Wish) -> Body:
    messages: list[Body] = [{"role": role, "content": text} for role, text in (*wish.before, ("user", wish.words))]
    if wish.thought:
        blocks = [{"type": "thinking", "thinking": wish.thought, "signature": ""}, {"type": "text", "text": "Well."}]
        messages += [{"role": "assistant", "content": blocks}, {"role": "user", "content": "And?"}]
    if wish.heard:
        content = wish.heard.native["content"]
        called = [block for block in content if block["type"] == "tool_use"]
        results = [
            {"type": "tool_result", "tool_use_id": call["id"], "content": result}
            for call, result in zip(called, wish.results, strict=True)
        ]
        messages += [{"role": "assistant", "content": content}, {"role": "user", "content": results}]
    if wish.prefill:
        messages.append({"role": "assistant", "content": wish.prefill})
    output = {"effort": wish.effort, "format": _messages_format(wish)}
    return {
        "messages": messages,
        "system": wish.system,
        "tools": [
            {"name": name, "input_schema": _parameters(wish.strict), "strict": wish.strict} for name in wish.tools
        ]
        or None,
        "tool_choice": _messages_choice(wish),
        "max_tokens": wish.budget,
        "stop_sequences": list(wish.stop) or None,
        "output_config": {name: value for name, value in output.items() if value is not None} or None,
        "thinking": None if wish.think is None else {"type": "enabled" if wish.think else "disabled"},
    }


def _messages_choice(wish: Wish) -> Body | None:
    choice: Body = {"disable_parallel_tool_use": True} if not wish.parallel else {}
    match wish.choice:
        case None if not choice:
            return None
        case None | "auto":
            return {"type": "auto"} | choice
        case "required":
            return {"type": "any"} | choice
        case "none":
            return {"type": "none"}
        case name:
            return {"type": "tool", "name": name} | choice


def _messages_format(wish: Wish) -> Body | None:
    if wish.schema is not None:
        return {"type": "json_schema", "schema": wish.schema}
    return {"type": "json_object"} if wish.any_object else None


_ANTHROPIC_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "calls",
}


def _messages_usage(usage: Body) -> Usage:
    cached = usage["cache_read_input_tokens"]
    return Usage(
        prompt=usage["input_tokens"] + cached + usage["cache_creation_input_tokens"],
        cached=cached,
        completion=usage["output_tokens"],
        reasoning=usage["output_tokens_details"]["thinking_tokens"],
    )


def _messages_whole(answer: Body, reply: Exchange) -> Heard:
    blocks = answer["content"]
    return Heard(
        text="".join(block["text"] for block in blocks if block["type"] == "text"),
        reasoning="".join(block["thinking"] for block in blocks if block["type"] == "thinking"),
        calls=tuple((block["name"], _compact(block["input"])) for block in blocks if block["type"] == "tool_use"),
        finish=_ANTHROPIC_FINISH[answer["stop_reason"]],
        usage=_messages_usage(answer["usage"]),
        native=answer,
        headers=reply.headers,
    )


def _messages_folded(reply: Exchange) -> Heard:
    blocks: list[Body] = []
    ended: Body = {}
    for event in reply.data:
        match event:
            case {"type": "content_block_start", "content_block": block}:
                blocks.append({**block, "json": ""})
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}}:
                blocks[-1]["text"] += text
            case {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": text}}:
                blocks[-1]["thinking"] += text
            case {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": text}}:
                blocks[-1]["json"] += text
            case {"type": "message_delta"}:
                ended = event
    whole = [{**block, "input": json.loads(block["json"])} if block["json"] else block for block in blocks]
    return _messages_whole({"content": whole, **ended["delta"], "usage": ended["usage"]}, reply)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_BODIES: Mapping[str, Callable[[Wish], Body]] = {
    "chat": _chat_body,
    "completions": _completions_body,
    "responses": _responses_body,
    "messages": _messages_body,
}
_WHOLE: Mapping[str, Callable[[Body, Exchange], Heard]] = {
    "chat": _chat_whole,
    "completions": _completions_whole,
    "responses": _responses_whole,
    "messages": _messages_whole,
}
_FOLDED: Mapping[str, Callable[[Exchange], Heard]] = {
    "chat": _chat_folded,
    "completions": _completions_folded,
    "responses": _responses_folded,
    "messages": _messages_folded,
}
_COUNTED: Body = {"stream": True, "stream_options": {"include_usage": True}}
_STREAMED: Mapping[str, Body] = {
    "chat": _COUNTED,
    "completions": _COUNTED,
    "responses": {"stream": True},
    "messages": {"stream": True},
}

COUNTS: Mapping[str, tuple[str, str]] = {
    "chat": ("/tokenize", "count"),
    "completions": ("/tokenize", "count"),
    "responses": ("/v1/responses/input_tokens", "input_tokens"),
    "messages": ("/v1/messages/count_tokens", "input_tokens"),
}
"""Where a body is counted, and what the number is called."""


def message_of(surface: str, body: Body) -> str:
    """What an error says, in the surface's own envelope."""
    error = body["error"]
    if surface == "messages":
        assert (body["type"], set(error)) == ("error", {"type", "message"})
    else:
        assert set(error) == {"message", "type", "param", "code"}
    message: str = error["message"]
    return message


def surfaces(marks: Iterable[Any]) -> Sequence[str]:
    """The surfaces that a test's marks name, in their order."""
    return tuple(dict.fromkeys(name for mark in marks for name in mark.args[1:]))
