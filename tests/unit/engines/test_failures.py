from __future__ import annotations

import signal

import pytest

from dragoman.core.errors import Code, EngineFailed, InvalidRequest
from dragoman.engines.failures import exit_failure, fault_failure, load_failure, request_failure
from dragoman.engines.link import ExitStatus
from dragoman.protocol.errors import FaultCode
from dragoman.protocol.frames import Error, Fault, LoadFail


@pytest.mark.parametrize("detail", ["5000 4096", "prompt_tokens=5000 requested=16 capacity=4096"])
def test_an_overflow_names_both_numbers_in_the_words_that_clients_look_for(detail):
    failure = request_failure(Error(1, "CONTEXT_EXCEEDED", detail), ids=False)
    assert "maximum context length is 4096 tokens" in failure.message
    assert "5000" in failure.message
    assert failure.code is Code.CONTEXT_LENGTH_EXCEEDED
    assert failure.details.items() >= {"prompt_tokens": 5000, "context_length": 4096}.items()


def test_a_prompt_that_fills_the_context_is_told_that_there_is_no_room_for_an_answer():
    """It fits, so the two numbers alone would be a riddle."""
    exact, longer = [request_failure(Error(1, "CONTEXT_EXCEEDED", f"{used} 64"), ids=False) for used in (64, 65)]
    assert "no room for an answer" in exact.message
    assert "no room" not in longer.message


def test_an_overflow_without_numbers_is_still_an_overflow():
    assert request_failure(Error(1, "CONTEXT_EXCEEDED"), ids=False).code is Code.CONTEXT_LENGTH_EXCEEDED


@pytest.mark.parametrize("kind", ["nomem", "io", "format", "unsupported"])
def test_each_kind_of_load_failure_has_its_own_words(kind):
    others = {"nomem", "io", "format", "unsupported"} - {kind}
    message = load_failure(LoadFail(kind, "42")).message
    assert message not in {load_failure(LoadFail(other, "42")).message for other in others}
    assert "42" in message


def test_an_illegal_instruction_says_what_it_is_and_what_to_do():
    for loading in (True, False):
        message = exit_failure(ExitStatus(-signal.SIGILL), loading=loading).message
        assert "SIGILL" in message
        assert "illegal instruction" in message
        assert "dragoman doctor" in message


def test_exit_statuses_read_as_people_say_them():
    assert str(ExitStatus(3)) == "exited with status 3"
    assert str(ExitStatus(-9)) == "was killed by SIGKILL"
    assert ExitStatus(-4).signal == "SIGILL"
    assert ExitStatus(0).signal is None
    assert "closed its output" in exit_failure(None, loading=False).message


@pytest.mark.seeds("S84")
@pytest.mark.parametrize("code", FaultCode)
def test_every_fault_of_one_request_has_its_code_for_clients(code):
    assert fault_failure(Fault(1, code, "why")).code == code.value


@pytest.mark.parametrize("ids", [False, True])
@pytest.mark.parametrize(
    ("detail", "feature"),
    [
        ("logit_bias has a token id outside the vocabulary of 49152", "logit_bias"),
        ("stop_token_ids", "stop_token_ids"),
        ("dry.base", "dry"),
    ],
)
def test_an_engine_that_refuses_a_value_by_its_key_is_a_mistake_of_the_client_there(detail, feature, ids):
    failure = request_failure(Error(1, "BAD_REQUEST", detail), ids=ids)
    assert isinstance(failure, InvalidRequest)
    assert (failure.code, failure.feature) == (Code.INVALID_VALUE, feature)
    assert feature in failure.message
    assert detail.partition(" ")[2] in failure.message


def test_a_refusal_of_what_no_client_wrote_is_the_engines_failure():
    failure = request_failure(Error(1, "BAD_REQUEST", "invalid cache slot"), ids=False)
    assert isinstance(failure, EngineFailed)
    assert request_failure(Error(1, "BAD_REQUEST", "invalid token id"), ids=True).feature == "prompt"


def test_a_grammar_that_is_none_is_the_clients_mistake_told_in_the_compilers_words():
    failure = request_failure(Error(1, "BAD_GRAMMAR", "unknown name: foo"), ids=False)
    assert isinstance(failure, InvalidRequest)
    assert (failure.code, failure.feature) == (Code.INVALID_VALUE, "grammar")
    assert "unknown name: foo" in failure.message
