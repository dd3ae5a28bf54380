"""What other servers do with each field of a request: facts for the comparison in docs/api.md, which joins them with our tables.

Read from sources and documentation between January and August 2026, not measured; a server may have changed since. All four
drop a field that they do not know, without a word, so a field that is in none of vLLM's or SGLang's request types is ``DROPPED``
there. Of llama-server and Ollama only what was looked up is told; the rest is ``UNKNOWN``.
"""

from __future__ import annotations

from collections.abc import Mapping

PEERS = ("vLLM", "SGLang", "llama-server", "Ollama")

YES = "yes"
DROPPED = "dropped"
UNKNOWN = "?"
KWARGS = "in `chat_template_kwargs`"

# The fields that each takes, by its request types or its documentation.
VLLM = """
messages prompt model stream stream_options temperature top_p top_k min_p seed n stop stop_token_ids min_tokens
ignore_eos max_tokens max_completion_tokens presence_penalty frequency_penalty repetition_penalty logit_bias
allowed_token_ids bad_words logprobs top_logprobs prompt_logprobs logprob_token_ids echo use_beam_search
length_penalty include_stop_str_in_output skip_special_tokens spaces_between_special_tokens truncate_prompt_tokens
truncation_side add_special_tokens response_format structured_outputs request_id session_id return_tokens_as_token_ids
return_token_ids routed_experts_prompt_start return_prompt_text cache_salt kv_transfer_params ec_transfer_params
vllm_xargs repetition_detection thinking_token_budget stream_interval watermarking prompt_embeds tools
reasoning_effort include_reasoning add_generation_prompt continue_final_message documents chat_template_kwargs
media_io_kwargs mm_processor_kwargs
"""

SGLANG = """
messages prompt model stream stream_options temperature top_p top_k min_p seed n stop stop_token_ids min_tokens
ignore_eos max_tokens max_completion_tokens presence_penalty frequency_penalty repetition_penalty logit_bias logprobs
echo skip_special_tokens response_format json_schema regex ebnf stop_regex no_stop_trim return_hidden_states
return_routed_experts routed_experts_start_len return_cached_tokens_details return_token_ids return_prompt_token_ids
return_meta_info lora_path session_id session_params custom_params custom_logit_processor images_config bootstrap_host
bootstrap_port bootstrap_room routed_dp_rank disagg_prefill_dp_rank data_parallel_rank rid extra_key cache_salt
ngram_corpus_id priority custom_labels tools parallel_tool_calls task continue_final_message separate_reasoning
stream_reasoning chat_template_kwargs max_dynamic_patch min_dynamic_patch use_audio_in_video input_ids reasoning
"""

LLAMA_SERVER = """
messages model stream temperature top_p top_k min_p seed stop ignore_eos max_tokens presence_penalty frequency_penalty
typical_p repeat_penalty repeat_last_n dry_multiplier dry_base dry_allowed_length dry_penalty_last_n
dry_sequence_breakers xtc_probability xtc_threshold mirostat mirostat_tau mirostat_eta dynatemp_range
dynatemp_exponent top_n_sigma n_predict n_indent n_keep n_cmpl n_cache_reuse json_schema n_probs min_keep
t_max_predict_ms id_slot cache_prompt return_tokens samplers timings_per_token return_progress sse_ping_interval
post_sampling_probs response_fields lora tools reasoning_effort chat_template_kwargs
"""

OLLAMA = """
messages model stream stream_options temperature top_p max_tokens seed presence_penalty frequency_penalty suffix
response_format reasoning_effort
"""

# Those fields, and the word for all others, by peer; where ``SAID`` says something, that is the word.
TAKES: Mapping[str, tuple[frozenset[str], str]] = {
    "vLLM": (frozenset(VLLM.split()), DROPPED),
    "SGLang": (frozenset(SGLANG.split()), DROPPED),
    "llama-server": (frozenset(LLAMA_SERVER.split()), UNKNOWN),
    "Ollama": (frozenset(OLLAMA.split()), UNKNOWN),
}

# By field, in the order of PEERS; None leaves it to TAKES.
SAID: Mapping[str, tuple[str | None, str | None, str | None, str | None]] = {
    "prompt": ("text, ids, arrays of both", "text, ids, arrays of both", "these, and mixed ones", "one string"),
    "max_tokens": (
        "absent: 16, in chat the rest",
        "absent: 16, in chat the rest",
        "absent: until the end",
        "absent: until the end",
    ),
    "n": ("yes, to 16384", None, "up to its slots", DROPPED),
    "best_of": ("removed", "typed", DROPPED, DROPPED),
    "seed": ("yes; neighbours change the result", None, "yes; neighbours change the result", YES),
    "stop": (None, None, None, "in the place of the template's own"),
    "stop_token_ids": (None, None, DROPPED, DROPPED),
    "min_tokens": (None, None, DROPPED, DROPPED),
    "ignore_eos": (None, None, None, DROPPED),
    "include_stop_str_in_output": (YES, "as `no_stop_trim`", None, None),
    "logit_bias": ("by id", "by id", "by id or text", DROPPED),
    "top_k": (None, None, None, "not on /v1"),
    "min_p": (None, None, None, "not on /v1"),
    "typical_p": (None, None, None, "not on /v1"),
    "repetition_penalty": (None, None, "as `repeat_penalty`", None),
    "mirostat": (None, None, "yes", "removed"),
    "xtc_probability": (None, None, None, DROPPED),
    "xtc_threshold": (None, None, None, DROPPED),
    "dry_multiplier": (None, None, None, DROPPED),
    "dry_base": (None, None, None, DROPPED),
    "dry_allowed_length": (None, None, None, DROPPED),
    "dry_penalty_last_n": (None, None, None, DROPPED),
    "dry_sequence_breakers": (None, None, None, DROPPED),
    "logprobs": (None, "yes; faulty in streams", "part: not with tools in a stream", "yes, since lately"),
    "top_logprobs": (None, YES, "part: not with tools in a stream", "yes, since lately"),
    "prompt_logprobs": (None, "on its own route, or by echo", DROPPED, DROPPED),
    "echo": ("yes; in chat it is something else", None, DROPPED, DROPPED),
    "suffix": ("refuses", "with a template for it", "on its own route, /infill", None),
    "guided_json": ("as `structured_outputs`", "as `response_format`", "as `json_schema`", DROPPED),
    "guided_regex": ("as `structured_outputs`", "as `regex`", "as `grammar`", DROPPED),
    "guided_choice": ("as `structured_outputs`", "as `regex`", "as `grammar`", DROPPED),
    "guided_grammar": ("as `structured_outputs`", "as `ebnf`", "as `grammar`", DROPPED),
    "user": ("documented as ignored", None, None, None),
    "priority": ("where its policy is on", "yes", DROPPED, DROPPED),
    "lora": (DROPPED, "as `lora_path`", None, DROPPED),
    "grammar": ("as `structured_outputs`", "as `ebnf`", "GBNF", DROPPED),
    "structured_outputs": (YES, "as `regex`, `ebnf`", "as `grammar`", DROPPED),
    "response_format": (YES, YES, "part: some schemas fail, or are let go", YES),
    "tools": ("with a parser's flag", "with a parser's flag", YES, "where the template has them"),
    "tool_choice": (YES, YES, "a named one is taken as `required`", DROPPED),
    "parallel_tool_calls": ("accepted", None, "where the template can", DROPPED),
    "reasoning_effort": (None, "yes, a number too", None, None),
    "thinking_token_budget": (None, None, "a flag of the server", None),
    "include_reasoning": (None, "as `separate_reasoning`", None, None),
    "continue_final_message": (None, None, "a last assistant turn is continued", "a last assistant turn is continued"),
    "chat_template": ("behind a flag", "variables only", "variables only", DROPPED),
    "enable_thinking": (KWARGS, KWARGS, KWARGS, None),
    "preserve_thinking": (KWARGS, KWARGS, KWARGS, None),
    "chat_template_kwargs": (None, None, None, DROPPED),
}


def fact(peer: str, field: str) -> str:
    """What a peer does with a field. Raises ``KeyError`` for a peer that is not one of ``PEERS``."""
    taken, otherwise = TAKES[peer]
    said = SAID.get(field, (None,) * len(PEERS))[PEERS.index(peer)]
    return said or (YES if field in taken else otherwise)
