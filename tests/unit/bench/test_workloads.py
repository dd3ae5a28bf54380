from __future__ import annotations

from itertools import combinations, pairwise, takewhile

import pytest

from bench.workloads import WORDS, WORKLOADS, Place, words


def requests(name, *, rounds=3, clients=16, answer="an answer"):
    """Everything that the clients of some rounds ask, client by client."""
    for round_ in range(rounds):
        for client in range(clients):
            yield list(follow(name, Place(round=round_, clients=clients, client=client), answer))


def follow(name, place, answer):
    script = WORKLOADS[name].script(place)
    request = next(script)
    while True:
        yield request
        try:
            request = script.send(answer)
        except StopIteration:
            return


def prompt(request):
    payload = request.payload
    return payload["prompt"] if "prompt" in payload else payload["messages"][-1]["content"]


def shared_words(texts):
    """The most words that two of the texts have in common at their start."""
    pairs = combinations([text.split() for text in texts], 2)
    return max(sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(a, b, strict=False))) for a, b in pairs)


@pytest.mark.parametrize("name, length", [("distinct", 40), ("contexts", 1000)])
def test_prompts_have_their_length_and_share_no_prefix(name, length):
    prompts = [prompt(request) for script in requests(name) for request in script]
    assert {len(text.split()) for text in prompts} == {length}
    assert shared_words(prompts) <= 2


def test_a_shared_system_prompt_is_shared_within_a_round_and_new_in_the_next():
    rounds = [list(requests("shared", rounds=1, clients=8))]
    rounds += [[list(follow("shared", Place(round=1, clients=8, client=c), "")) for c in range(8)]]
    systems = [{request.payload["messages"][0]["content"] for (request,) in scripts} for scripts in rounds]
    assert [len(system) for system in systems] == [1, 1]
    assert all(len(text.split()) == 1000 for system in systems for text in system)
    assert shared_words([text for system in systems for text in system]) <= 2


def test_questions_about_a_shared_prompt_are_distinct():
    questions = [prompt(request) for (request,) in requests("shared", rounds=1)]
    assert len(set(questions)) == 16
    assert shared_words(questions) <= 2


def test_numbers_of_clients_do_not_share_a_prompt_either():
    systems = [
        next(WORKLOADS["shared"].script(Place(round=0, clients=clients, client=0))).payload["messages"][0]["content"]
        for clients in (1, 4, 8, 16)
    ]
    assert shared_words(systems) <= 2


def test_a_conversation_has_five_turns_that_each_contain_the_last_answer():
    (turns, *_) = requests("conversation", clients=1, answer="as you say")
    histories = [request.payload["messages"] for request in turns]
    assert [len(history) for history in histories] == [1, 3, 5, 7, 9]
    for earlier, later in pairwise(histories):
        assert later[: len(earlier)] == earlier
        assert later[len(earlier)] == {"role": "assistant", "content": "as you say"}
        assert later[-1]["role"] == "user"


@pytest.mark.parametrize("name, tokens", [("distinct", 32), ("shared", 32), ("conversation", 32), ("contexts", 512)])
def test_every_answer_has_the_same_length_on_every_server(name, tokens):
    for script in requests(name, rounds=1, clients=2):
        for request in script:
            assert request.payload["max_tokens"] == tokens
            assert request.payload["ignore_eos"] is True
            assert request.payload["temperature"] == 0
            assert request.payload["stream"] is True
            assert request.payload["stream_options"] == {"include_usage": True}


def test_a_round_of_one_client_is_as_long_as_one_of_eight_answers():
    counts = {clients: len(next(requests("distinct", clients=clients))) for clients in (1, 4, 8, 16)}
    assert counts == {1: 8, 4: 2, 8: 2, 16: 2}


def test_the_same_key_gives_the_same_words_and_another_key_others():
    assert words(20, "a", 1) == words(20, "a", 1)
    assert words(20, "a", 1) != words(20, "a", 2)
    assert len(WORDS) == len(set(WORDS)) == 175
