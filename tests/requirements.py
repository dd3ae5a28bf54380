"""The manifest: every row of seeds.md, and where we stand with it. test_requirements.py holds it against the tests.

``Done``: at least one test names the row with ``@pytest.mark.seeds("S27")``; its gap is what is missing all the same.
``Later``: the issue that brings it, if one does so far; no test may name it yet. ``NotOurs``: with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Done:
    """Tests prove it, except for the gap."""

    gap: str = ""


@dataclass(frozen=True, slots=True)
class Later:
    """To be built in that issue."""

    issue: int | None = None


@dataclass(frozen=True, slots=True)
class NotOurs:
    """Will not be built, for this reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class Row:
    """A behaviour in a few words, and its status."""

    behaviour: str
    status: Done | Later | NotOurs


ROWS: dict[str, Row] = {
    # Endpoints, process model, transport
    "S1": Row("set of endpoints; unknown paths get a JSON 404", Done()),
    "S2": Row("a surface is a wire contract with its own objects", Done()),
    "S3": Row("tokenize, detokenize, metrics, version routes", Done()),
    "S4": Row("one model process serves all requests", Done()),
    "S5": Row("loopback by default; a key before other addresses", Done()),
    "S6": Row("API key by either header, on metrics too", Done()),
    "S7": Row("guard against forged Host headers", Done()),
    "S8": Row("CORS allow-list", Done()),
    "S9": Row("models: list, single, unknown", Done()),
    "S10": Row("context length in the model card", Done()),
    "S11": Row("health with counters", Done()),
    "S12": Row("queue wait and request id in headers; Retry-After on 429", Done()),
    "S13": Row("statistics route with route counters", NotOurs("/metrics has them; one place is enough")),
    "S14": Row("chunked request bodies", Done()),
    "S15": Row("Idempotency-Key", Done()),
    "S16": Row("no batch endpoint: 404", Done()),
    "S17": Row("ids are no keys: trust between clients", Done()),
    "S18": Row("what stays compatible", Done()),
    "S19": Row("web console on the same port", Later()),
    "S20": Row("set-up recipes for clients", Done("crush cannot be installed here")),
    # Output budget, sampling and stop
    "S21": Row("max_tokens is a ceiling, clamped to the context", Done()),
    "S22": Row("budget: negative, huge, fractional, omitted", Done()),
    "S23": Row("a budget of zero decodes nothing", Done()),
    "S24": Row("Messages without max_tokens", Done()),
    "S25": Row("budget below one names the value", Done()),
    "S26": Row("temperature and top_p within bounds", Done()),
    "S27": Row("stop strings: cut from the text, held back over deltas", Done()),
    "S28": Row("implicit stops of the family", Done()),
    "S29": Row("leading stops ignored on request", Done()),
    "S30": Row("seed accepted", Done()),
    "S31": Row("seed honoured", Done()),
    "S32": Row("min_p", Done()),
    "S33": Row("presence and frequency penalty", Done()),
    "S34": Row("repetition penalty", Done()),
    "S35": Row("logit_bias", Done()),
    "S36": Row("min_tokens", Done()),
    "S37": Row("stop_token_ids", Done()),
    "S38": Row("include_stop_str_in_output", Done()),
    "S39": Row("skip_special_tokens", Done()),
    "S40": Row("values out of range are refused by name", Done()),
    "S41": Row("order of the processors", Done()),
    "S42": Row("n choices", Done()),
    "S43": Row("n above one refused", NotOurs("n is honoured (S42)")),
    "S44": Row("what shapes the result is refused, never ignored", Done()),
    "S45": Row("modalities: text only", Done()),
    "S46": Row("bookkeeping fields are ignored", Done()),
    "S47": Row("echo leads the text", Done()),
    "S48": Row("suffix as fill-in-the-middle", Done()),
    "S49": Row("continue_final_message", Done()),
    "S50": Row("request_id becomes the response id", Done()),
    "S51": Row("system_fingerprint in replies and chunks", Done()),
    "S52": Row("usage with cached and reasoning tokens", Done()),
    "S53": Row("include_usage: one last chunk without choices", Done()),
    "S54": Row("tokenize: prompt or messages, counts as generation does", Done()),
    "S55": Row("detokenize", Done()),
    "S56": Row("version", Done()),
    "S57": Row("a budget that cuts a tool call says length", Done()),
    "S58": Row("structured output refused by name where it cannot be enforced", Done()),
    "S59": Row("structured output refused without a grammar engine", Done()),
    "S60": Row("structured output as a constraint", Done()),
    # Reasoning and continued turns
    "S61": Row("enable_thinking", Done()),
    "S62": Row("reasoning_effort", Done()),
    "S63": Row("preserve_thinking", Done()),
    "S64": Row("a trailing assistant message is continued", Done()),
    "S65": Row("continuations that are refused", Done()),
    "S66": Row("families that cannot leave a turn open", Done()),
    "S67": Row("splits inside a word", Done()),
    "S68": Row("thinking on Messages", Done()),
    # Log probabilities and echo
    "S69": Row("completions: logprobs", Done()),
    "S70": Row("completions: echo", Done()),
    "S71": Row("chat: logprobs", Done()),
    "S72": Row("chat: top_logprobs is checked always", Done()),
    "S73": Row("chat: echo is refused", Done()),
    "S74": Row("logprobs refused where the engine has none", Done()),
    "S75": Row("logprobs in streams", Done()),
    "S76": Row("the legacy logprobs object", Done()),
    "S77": Row("text_offset in characters", Done()),
    "S78": Row("echo placed by position", Done()),
    "S79": Row("the chosen token's own value", Done()),
    "S80": Row("the table of alternatives", Done()),
    "S81": Row("values that are not finite become null", Done()),
    "S82": Row("tokens cut by a stop", Done()),
    "S83": Row("records describe exactly the returned text", Done()),
    "S84": Row("engine faults in logprobs are named", Done()),
    "S85": Row("one STOP after a fault", Done()),
    "S86": Row("cost of prompt read-out", Done()),
    "S87": Row("echo frames are dropped when not shown", Done()),
    "S88": Row("bounded wait for an engine that never accepts", Done()),
    "S89": Row("logprobs beside reasoning and tools", Done()),
    # Array prompts
    "S90": Row("four forms of prompt", Done()),
    "S91": Row("arrays of one equal the flat form", Done()),
    "S92": Row("arrays are homogeneous", Done()),
    "S93": Row("token ids where the engine takes them", Done()),
    "S94": Row("all members are checked before the first is submitted", Done()),
    "S95": Row("one choice a member, equal to its single twin", Done()),
    "S96": Row("members do not leak into each other", Done()),
    "S97": Row("a refused member is named", Done()),
    "S98": Row("all or nothing", Done()),
    "S99": Row("caps on members and tokens", Done()),
    "S100": Row("the budget that counts when it is omitted", Done()),
    "S101": Row("order of checks", Done()),
    "S102": Row("batches with stream or n", Done()),
    "S103": Row("admission of a batch", Done()),
    "S104": Row("slots of a batch", Done()),
    "S105": Row("group_score refused", Done()),
    # Engine pipe
    "S106": Row("a plain request is byte-identical to the older form", Done()),
    "S107": Row("frame groups are written whole", Done()),
    "S108": Row("checked writes", Done()),
    "S109": Row("validated reads", Done()),
    "S110": Row("GRP frames are drained and reach nobody", Done()),
    "S111": Row("a child whose reader is gone dies by SIGPIPE", Done()),
    "S112": Row("no request stays pending", Done()),
    "S113": Row("ACCEPT before output; older engines count the first DATA", Done()),
    # Anthropic Messages
    "S114": Row("Messages: what is served", Done()),
    "S115": Row("Messages: what is refused; stop_sequences, top_k and pictures are honoured", Done()),
    "S116": Row("the 200 is sent on ACCEPT", Done()),
    "S117": Row("error types by status", Done()),
    "S118": Row("ids of messages", Done()),
    "S119": Row("tools, there and back", Done()),
    # Tool calls
    "S120": Row("tool syntax by family", Done()),
    "S121": Row("tool_choice required", Done()),
    "S122": Row("a forced function", Done()),
    "S123": Row("strict tool calls", Done()),
    "S124": Row("malformed calls are not salvaged silently", Done()),
    "S125": Row("grammar enforces", Done()),
    "S126": Row("buffered tools", Done()),
    "S127": Row("object tool_choice and parallel_tool_calls", Done()),
    # Admission, prefix reuse, persistence
    "S128": Row("bounded FIFO queue", Done()),
    "S129": Row("a queue of zero", Done()),
    "S130": Row("deadline before slot", Done()),
    "S131": Row("fairness of pinned and free requests", Done()),
    "S132": Row("cancelled before a slot was had", Done()),
    "S133": Row("slots and cache_slot", Done()),
    "S134": Row("prefixes are reused", Done()),
    "S135": Row("sequences survive a restart", Later()),
    "S136": Row("sequences decode together, equal to alone", Done()),
    "S137": Row("memory is told before it is needed", Done("per slot and as a plan: not yet")),
    "S138": Row("lanes", NotOurs("one lane: batching serves every request with all features")),
    "S139": Row("table of lanes", NotOurs("one lane")),
    "S140": Row("switches of lanes", NotOurs("one lane")),
    "S141": Row("continuations resume what is in the cache", Done()),
    "S142": Row("admission by credits on the cache", Done()),
    "S143": Row("return_token_ids", Done()),
    "S144": Row("previous_response_id and conversations", Done()),
    # Metrics
    "S145": Row("metrics: exposition, authentication, no private labels", Done()),
    "S146": Row("metrics: gauges", Done()),
    "S147": Row("metrics: counters", Done()),
    "S148": Row("metrics: histograms", Done()),
    "S149": Row("metrics: what they mean", Done()),
    "S150": Row("metrics: per surface", Done()),
    "S151": Row("metrics: the engine's statistics", Done()),
    # System One, media, errors
    "S152": Row("System One", Later()),
    "S153": Row("images", Done()),
    "S154": Row("audio", NotOurs("refused by name; no engine here hears")),
    "S155": Row("an error after the commit is the surface's own event", Done()),
    "S156": Row("error envelope", Done()),
    "S157": Row("long prefills are not silent", Done()),
    "S158": Row("streams are held against tapes", Done()),
    "S159": Row("figures of a pull request", NotOurs("evidence, not behaviour")),
    "S160": Row("figures of a pull request", NotOurs("evidence, not behaviour")),
    "S161": Row("a batch equals its members alone, on a real model", Done()),
    "S162": Row("what was tried live with images and audio", NotOurs("evidence, not behaviour")),
    "S163": Row("features that a family lacks are refused", Done()),
    "S164": Row("a request without extras pays nothing for them", Done()),
}
