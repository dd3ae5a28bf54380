from __future__ import annotations

import pytest

from dragoman.core.text import ScanResult, StopScanner, Utf8Decoder, held_back


def scan(stops: tuple[str, ...], *pieces: str) -> tuple[list[str], str, str | None]:
    scanner = StopScanner(stops)
    shown = [scanner.feed(piece).text for piece in pieces]
    return shown, scanner.finish(), scanner.matched


class TestUtf8Decoder:
    def test_knows_whether_a_character_is_open(self):
        decoder = Utf8Decoder()
        decoder.feed("é".encode() + b"\xc3")
        assert decoder.inside
        decoder.feed(b"\xa9")
        assert not decoder.inside

    def test_a_character_cut_in_two_comes_out_when_it_is_whole(self):
        decoder = Utf8Decoder()
        assert [decoder.feed(b"\xf0\x9f"), decoder.feed(b"\x98"), decoder.feed(b"\x80!")] == ["", "", "\U0001f600!"]
        assert decoder.finish() == ""

    def test_bytes_that_never_became_a_character_end_as_a_replacement_character(self):
        decoder = Utf8Decoder()
        assert decoder.feed(b"ab\xe2\x82") == "ab"
        assert decoder.finish() == "\ufffd"

    def test_a_byte_that_starts_no_character_is_replaced_at_once(self):
        assert Utf8Decoder().feed(b"a\xffb") == "a\ufffdb"

    def test_after_the_end_a_new_text_may_begin(self):
        decoder = Utf8Decoder()
        decoder.feed(b"\xe2")
        decoder.finish()
        assert decoder.feed(b"ok") == "ok"
        assert decoder.finish() == ""


class TestHeldBack:
    @pytest.mark.parametrize(
        "text, markers, length",
        [
            ("abc<", ("<tool>",), 1),
            ("abc<too", ("<tool>",), 4),
            ("abc<tool>", ("<tool>",), 0),
            ("a<<", ("<<|",), 2),
            ("aaa", ("aaab",), 3),
            ("xab", ("abc", "bcd"), 2),
            ("xb", ("abc", "bcd"), 1),
            ("x", (), 0),
            ("", ("a",), 0),
            ("a", ("a",), 0),
        ],
    )
    def test_it_is_the_longest_end_that_begins_a_marker(self, text: str, markers: tuple[str, ...], length: int):
        assert held_back(text, markers) == length


@pytest.mark.seeds("S27")
class TestStopScanner:
    def test_without_stops_text_passes_through(self):
        scanner = StopScanner(())
        assert scanner.feed("anything <|") == ScanResult("anything <|")
        assert scanner.finish() == ""

    def test_a_stop_is_removed_with_all_that_follows(self):
        assert scan(("END",), "one END two") == (["one "], "", "END")

    def test_a_stop_split_over_two_deltas_is_held_back(self):
        assert scan(("END",), "one E", "ND two") == (["one ", ""], "", "END")

    def test_text_that_only_looked_like_a_stop_is_released(self):
        assert scan(("END",), "one EN", "Emy") == (["one ", "ENEmy"], "", None)

    def test_only_what_could_begin_a_stop_is_held_back(self):
        assert scan(("aab",), "xaaa") == (["xa"], "aa", None)

    def test_a_stop_at_the_very_start_leaves_nothing(self):
        assert scan(("\n",), "\nhello") == ([""], "", "\n")

    def test_the_stop_that_begins_first_wins_even_if_it_ends_last(self):
        assert scan(("bc", "abcd"), "xabcd") == (["x"], "", "abcd")

    def test_it_wins_also_when_its_end_arrives_later(self):
        assert scan(("bc", "abcd"), "xabc", "d") == (["x", ""], "", "abcd")

    def test_a_stop_that_waited_for_one_that_did_not_come_is_found_then(self):
        assert scan(("bc", "abcd"), "xabc", "e") == (["x", "a"], "", "bc")

    def test_a_stop_that_waited_is_found_at_the_end_of_the_text(self):
        assert scan(("bc", "abcd"), "xabc") == (["x"], "a", "bc")

    def test_of_two_that_begin_together_the_first_in_the_list_wins(self):
        assert scan(("ab", "abc"), "xabc") == (["x"], "", "ab")
        assert scan(("abc", "ab"), "xab", "c") == (["x", ""], "", "abc")
        assert scan(("abc", "ab"), "xab", "d") == (["x", ""], "", "ab")

    def test_after_a_match_nothing_more_comes(self):
        scanner = StopScanner(("END",))
        scanner.feed("END")
        assert scanner.feed("more") == ScanResult("", "END")
        assert scanner.finish() == ""

    def test_behind_a_stop_that_is_left_out_a_new_text_begins(self):
        scanner = StopScanner(("END",))
        assert scanner.feed("aENDbENDc") == ScanResult("a", "END")
        assert scanner.resume() == ScanResult("b", "END")
        assert scanner.resume() == ScanResult("c")
        assert scanner.matched is None

    def test_a_stop_that_waited_for_the_end_can_be_left_out_there(self):
        scanner = StopScanner(("abc", "b"))
        assert scanner.feed("ab") == ScanResult("")
        assert (scanner.finish(), scanner.matched) == ("a", "b")
        assert scanner.resume() == ScanResult("")
        assert (scanner.finish(), scanner.matched) == ("", None)

    @pytest.mark.seeds("S36")
    def test_in_text_that_is_passed_over_no_stop_ends(self):
        scanner = StopScanner(("END",))
        assert scanner.pass_over("an END") == "an END"
        assert scanner.feed("an END") == ScanResult("an ", "END")

    @pytest.mark.seeds("S36")
    def test_a_stop_may_begin_in_text_that_is_passed_over(self):
        scanner = StopScanner(("ab", "cab"))
        assert scanner.pass_over("xca") == "x"
        assert scanner.held == "ca"
        assert scanner.feed("b") == ScanResult("", "cab")

    @pytest.mark.seeds("S36")
    def test_a_stop_that_ended_there_is_not_found_later_either(self):
        scanner = StopScanner(("a", "ab!"))
        assert scanner.pass_over("ab") == ""
        assert scanner.feed("c a") == ScanResult("abc ", "a")

    def test_an_empty_stop_is_refused(self):
        with pytest.raises(ValueError, match="never empty"):
            StopScanner(("a", ""))
