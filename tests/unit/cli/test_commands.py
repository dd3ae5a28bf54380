"""The commands as a person runs them, with the simulated engine in a process of its own."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from dragoman import __version__
from dragoman.cli.app import build_app
from dragoman.settings import options

SENTENCE = "A dragoman stood between two courts and said to each what the other meant."
"""What the simulated engine always answers."""


def run(*args: str, env: dict[str, str] | None = None, input: str | None = None) -> Result:
    return CliRunner().invoke(build_app(), list(args), env=env, input=input)


def test_the_version_is_the_packages() -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"dragoman {__version__}\n")


def test_every_setting_is_an_option_of_serve() -> None:
    page = run("serve", "--help", env={"COLUMNS": "200"}).stdout
    assert [row.flag for row in options() if row.flag not in page] == []


def test_a_message_is_answered_and_nothing_else_is_printed() -> None:
    result = run("chat", "--engine", "simulated", "--message", "Hello")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == SENTENCE + "\n"


def test_a_budget_cuts_the_answer() -> None:
    result = run("chat", "--engine", "simulated", "-m", "Hello", "--max-tokens", "2")
    assert result.exit_code == 0, result.stderr
    assert result.stdout != SENTENCE + "\n"
    assert SENTENCE.startswith(result.stdout.rstrip("\n"))


def test_a_conversation_goes_on_until_it_is_ended() -> None:
    result = run("chat", "--engine", "simulated", input="Hello\n\nAnd now?\n/exit\nnot reached\n")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count(SENTENCE) == 2


def test_the_end_of_input_ends_a_conversation() -> None:
    result = run("chat", "--engine", "simulated", input="Hello\n")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count(SENTENCE) == 1


def test_the_tokens_of_a_text_are_counted_and_listed() -> None:
    result = run("tokenize", "two courts", "--engine", "simulated", "--context", "512")
    assert result.exit_code == 0, result.stderr
    assert "tokens of 512 that fit" in result.stdout
    ids = run("tokenize", "two courts", "--ids", "--engine", "simulated").stdout.split()
    assert f"{len(ids)} tokens" in result.stdout
    assert all(token.isdecimal() for token in ids)


def test_a_text_may_come_from_standard_input() -> None:
    piped = run("tokenize", "-", "--ids", "--engine", "simulated", input="two courts")
    assert piped.stdout == run("tokenize", "two courts", "--ids", "--engine", "simulated").stdout


def test_plain_text_has_no_control_tokens() -> None:
    special = run("tokenize", "<|im_end|>", "--ids", "--engine", "simulated").stdout.split()
    plain = run("tokenize", "<|im_end|>", "--ids", "--plain", "--engine", "simulated").stdout.split()
    assert len(special) == 1
    assert len(plain) > 1


def failed(result: Result, code: int) -> str:
    """What a failed command said: never a traceback."""
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return str(result.stderr)


def test_a_setting_that_cannot_be_used_is_one_line_and_status_2() -> None:
    assert failed(run("serve", "--port", "http"), 2).startswith("dragoman: --port: 'http' is not an integer\n")
    assert failed(run("chat", env={"DRAGOMAN_SLOTS": "0"}), 2).startswith(
        "dragoman: DRAGOMAN_SLOTS: 0 is less than 1\n"
    )


def test_a_model_may_be_named_only_once(tmp_path: Path) -> None:
    assert "is given twice" in failed(run("serve", "a.gguf", "--model", "b.gguf"), 2)


@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("chat", "-m", "x"), ("tokenize", "x")])
def test_a_missing_model_is_one_line_with_what_to_do(command: tuple[str, ...], tmp_path: Path) -> None:
    absent = tmp_path / "absent.gguf"
    said = failed(run(*command, "--model", str(absent)), 1)
    assert f"dragoman: the model {absent} cannot be read: No such file or directory\n" in said
    assert "→ give the path of a .gguf file" in said


def test_a_file_that_is_no_model_is_one_line_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "weights.bin"
    path.write_bytes(b"PK\x03\x04")
    assert f"{path} is not a GGUF file" in failed(run("serve", str(path), "--port", "0"), 1)


def test_a_port_that_is_taken_is_said_before_anything_is_loaded(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = failed(run("serve", str(tmp_path / "absent.gguf"), "--port", str(port)), 1)
    assert f"dragoman: cannot listen on 127.0.0.1:{port}: address already in use\n" in said
    assert "--port" in said.splitlines()[1]


@pytest.mark.seeds("S5")
def test_listening_beyond_loopback_needs_a_key() -> None:
    said = failed(run("serve", "--engine", "simulated", "--host", "0.0.0.0", "--port", "0"), 1)
    assert "without an API key" in said
    assert "--allow-insecure-bind" in said


def test_an_engine_that_is_not_there_is_one_line() -> None:
    said = failed(run("chat", "-m", "x", "--engine-command", "/nonexistent/engine --fast"), 1)
    assert "/nonexistent/engine" in said
    assert "doctor" in said


def test_an_unknown_dialect_is_named_with_those_that_exist() -> None:
    said = failed(run("chat", "-m", "x", "--engine", "simulated", "--dialect", "klingon"), 1)
    assert "unknown dialect 'klingon'" in said
    assert "plain" in said


def test_a_chat_template_that_does_not_compile_stops_the_start(tmp_path: Path) -> None:
    path = tmp_path / "broken.jinja"
    path.write_text("{% for %}")
    said = failed(run("chat", "-m", "x", "--engine", "simulated", "--chat-template", str(path)), 1)
    assert f"the chat template {path} cannot be used" in said


def test_a_server_that_is_not_there_is_one_line() -> None:
    assert "http://127.0.0.1:1 cannot be reached" in failed(run("chat", "-m", "x", "--url", "http://127.0.0.1:1"), 1)


def test_doctor_says_what_is_wrong_and_ends_with_status_1(tmp_path: Path) -> None:
    result = run("doctor", str(tmp_path / "absent.gguf"), "--port", "0")
    assert result.exit_code == 1
    assert "problem model file" in result.stdout
    assert "→ give the path of a .gguf file" in result.stdout
    assert "1 to put right before serving." in result.stdout


def test_doctor_has_nothing_to_say_against_a_machine_that_can_serve() -> None:
    result = run("doctor", "--engine", "simulated", "--port", "0")
    assert result.exit_code == 0, result.stdout
    assert "Everything is in order." in result.stdout
