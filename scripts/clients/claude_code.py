"""Claude Code over Messages: its tools, one that is deferred, a subagent, thoughts, a picture, a schema, errors and its second turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from clients.served import Served, scripted
from clients.terminal import ANSWER, SEEN, THOUGHT, WORD, Case, Terminal, at_home, installed, objects, workplace
from dragoman.core.json import JsonObject

_READ: Final[JsonObject] = {"name": "Bash", "arguments": {"command": "cat word.txt", "description": "Read a file"}}

_DELEGATE: Final[JsonObject] = {
    "name": "Agent",
    "arguments": {
        "description": "Read a file",
        "prompt": "Read it. [scene: bash]",
        "subagent_type": "general-purpose",
        "run_in_background": False,
    },
}

_SCHEMA: Final = '{"type":"object","properties":{"word":{"type":"string"}},"required":["word"]}'

REREAD: Final = 0.02
"""Part of the prompt that a second turn may compute: it is the new turn, and not the 30 kB before it."""


def _scenes(folder: Path) -> dict[str, JsonObject]:
    return {
        "plain": {"answer": "A plain answer."},
        "bash": {"thought": THOUGHT, "calls": [_READ], "answer": ANSWER},
        "search": {
            "calls": [
                {"name": "ToolSearch", "arguments": {"query": "select:CronList", "max_results": 5}},
                {"name": "CronList", "arguments": {}},
            ],
        },
        "agent": {"calls": [_DELEGATE]},
        "schema": {"calls": [{"name": "StructuredOutput", "arguments": {"word": WORD}}]},
        "picture": {
            "calls": [{"name": "Read", "arguments": {"file_path": str(folder / "picture.png")}}],
            "answer": SEEN,
        },
        "overflows": {"trouble": "overflows"},
        "fails": {"trouble": "fails"},
        "dies-once": {"trouble": "dies once"},
    }


_QUICK: Final = {"CLAUDE_CODE_MAX_RETRIES": "1"}

CASES: Final = (
    Case(name="plain", typed=("Say hello. [scene: plain]",), shows=("A plain answer.",)),
    Case(name="tool search", typed=("Look. [scene: search]",), shows=("The result: No scheduled jobs",)),
    Case(name="subagent", typed=("Look. [scene: agent]",), shows=("The result: ", "tool_uses: 1")),
    Case(name="schema", typed=("--json-schema", _SCHEMA, "Look. [scene: schema]"), shows=(f'{{"word":"{WORD}"}}',)),
    Case(name="picture", typed=("Look. [scene: picture]",), shows=("Pictures that I see: 1",)),
    Case(name="context", typed=("/context",), shows=("Context Usage", "System tools")),
    Case(name="too long", typed=("Look. [scene: overflows]",), shows=("Prompt is too long", "limit")),
    Case(
        name="failure", typed=("Look. [scene: fails]",), shows=("API Error: 500", "the scene says so"), variables=_QUICK
    ),
    Case(name="death in an answer", typed=("Look. [scene: dies-once]",), shows=("The result: there is none",)),
    Case(name="thoughts", typed=("Look. [scene: bash]",), shows=(f"The file says {WORD}", "came back: 1")),
)
"""The last one is the first turn of a conversation."""


def play(server: Served, home: Path) -> list[str]:
    """What went wrong. Raises ``CalledProcessError`` where it cannot be installed, ``TimeoutExpired`` where it hangs."""
    folder = workplace(home)
    scenes = _scenes(folder)
    with scripted(scenes) as player:
        terminal = _terminal(player, home)
        faults = [*terminal.faults(CASES), *_reread(terminal)]
    with scripted(scenes, "--api-key", "another") as player:
        wrong = Case(name="wrong key", typed=("Hello. [scene: plain]",), shows=("Invalid API key",))
        faults += _terminal(player, home).faults([wrong])
    return [*faults, *_terminal(server, home).faults(_real())]


def _real() -> Iterator[Case]:
    """The demo model has no room for all tools, and knows nothing to say; its turn ends at a budget, which is told to the user."""
    yield Case(
        name="demo model",
        typed=("--tools", "Bash", "--system-prompt", "Be brief.", "--output-format", "json", "Say hello."),
        shows=('"api_error_status":null', '"type":"result"'),
        variables={"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "24", **_QUICK},
    )


def _reread(terminal: Terminal) -> Iterator[str]:
    """What a second turn computes anew, although the header that names the build changes with each request."""
    shown = terminal.told("-c", "--output-format", "json", "Again. [scene: plain]")
    match objects(shown):
        case [{"usage": {"input_tokens": int(computed), "cache_read_input_tokens": int(cached)}}] if (
            computed < REREAD * cached
        ):
            print(f"second turn: {computed} of {computed + cached} tokens computed", flush=True)
        case _:
            yield f"second turn: too much was computed, or nothing was told: {shown[-2000:]}"


def _terminal(server: Served, home: Path) -> Terminal:
    node = installed("claude_code")
    return Terminal(
        program=node.command("claude"),
        arguments=("-p", "--dangerously-skip-permissions"),
        folder=home / "work",
        variables=at_home(
            home,
            node,
            ANTHROPIC_BASE_URL=server.url,
            ANTHROPIC_API_KEY="unused",
            ANTHROPIC_MODEL=server.model,
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            DISABLE_AUTOUPDATER="1",
            IS_SANDBOX="1",
        ),
    )
