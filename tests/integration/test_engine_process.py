"""The engine client and a real child process."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dragoman.core.errors import Code, EngineFailed
from dragoman.engines.client import EngineClient, Patience
from dragoman.engines.link import LinkBroken
from dragoman.engines.process import ProcessLink
from dragoman.protocol.frames import Accept, Data, Done
from support.engines import asking, outputs, soon, text

SIMULATED = (sys.executable, "-m", "dragoman.engines.simulated")


def python(code: str) -> tuple[str, ...]:
    """A child that is this program."""
    return (sys.executable, "-c", code)


def ignored_signals(pid: int) -> set[int]:
    """What a process ignores (proc(5))."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    mask = next(int(line.split()[1], 16) for line in lines if line.startswith("SigIgn"))
    return {number for number in range(1, 65) if mask >> (number - 1) & 1}


class Child:
    """An engine client over a child process; ``links`` has every child that it started."""

    def __init__(self, *argv: str, patience: Patience | None = None) -> None:
        self.links: list[ProcessLink] = []
        self._argv = argv
        self.engine = EngineClient(self._spawn, patience=patience)

    async def _spawn(self) -> ProcessLink:
        link = await ProcessLink.spawn(self._argv)
        self.links.append(link)
        return link


@asynccontextmanager
async def serving(*options: str, patience: Patience | None = None) -> AsyncIterator[Child]:
    child = Child(*SIMULATED, *options, patience=patience)
    await soon(child.engine.start())
    try:
        yield child
    finally:
        await soon(child.engine.aclose())
        assert child.engine.pending == 0
        assert all(link.exit_status is not None for link in child.links), "no child is left behind"


async def test_sixteen_streams_at_once_lose_nothing():
    async with serving("--tokens", "500", "--slots", "16") as child:
        streams = [await child.engine.submit(asking(f"prompt {slot}", slot=slot, max_tokens=500)) for slot in range(16)]
        answers = await asyncio.gather(*map(text, streams))
    assert [len(answer.split()) for answer in answers] == [500] * 16
    assert str(child.links[0].exit_status) == "exited with status 0"


@pytest.mark.seeds("S108")
async def test_kill_9_with_eight_requests_in_flight_names_each_or_replays_it():
    async with serving("--tokens", "14", "--delay", "0.05", "--load", "0.5", "--slots", "8") as child:
        engine = child.engine
        streams = [await engine.submit(asking(f"prompt {slot}", slot=slot)) for slot in range(4)]
        for stream in streams:
            assert isinstance(await soon(anext(stream)), Accept)
        os.kill(child.links[0].pid, signal.SIGSTOP)  # so that it accepts no more
        streams += [await engine.submit(asking(f"prompt {slot}", slot=slot)) for slot in range(4, 8)]
        killed = time.monotonic()
        os.kill(child.links[0].pid, signal.SIGKILL)

        for stream in streams[:4]:
            with pytest.raises(EngineFailed, match="SIGKILL") as failure:
                await outputs(stream)
            assert failure.value.code is Code.ENGINE_CRASHED
        assert engine.status == "loading"
        assert engine.failure == "The engine was killed by SIGKILL while it served."

        for stream in streams[4:]:
            assert isinstance(await soon(anext(stream)), Accept)
        assert time.monotonic() - killed < 0.5 + 2.0, "back within the load time and two seconds"
        assert engine.status == "ready"
        assert len({await text(stream) for stream in streams[4:]}) == 1
    assert len(child.links) == 2


@pytest.mark.parametrize(
    ("order", "words"),
    [
        ("!exit 3", "exited with status 3"),
        ("!kill 4", "illegal instruction"),
        ("!kill 11", "SIGSEGV"),
        ("!half", "status 0"),
    ],
)
async def test_an_engine_that_dies_in_a_request_is_replaced(order, words):
    async with serving() as child:
        with pytest.raises(EngineFailed, match=words) as failure:
            await outputs(await child.engine.submit(asking(order)))
        assert failure.value.code is Code.ENGINE_CRASHED
        assert await text(await child.engine.submit(asking("next")))


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import sys; sys.stderr.write('no such model\\n'); sys.exit(2)", "exited with status 2 while it loaded"),
        ("import os; os.kill(os.getpid(), 4)", "illegal instruction"),
        ("print('LOAD_FAIL kind=nomem needs 9 GB', flush=True)", "not enough memory.*9 GB"),
        ("print('hello', flush=True); input()", "broke the protocol"),
    ],
)
async def test_an_engine_that_ends_before_ready_says_why(code, words):
    child = Child(*python(code))
    with pytest.raises(EngineFailed, match=words) as failure:
        await soon(child.engine.start())
    if "no such model" in code:
        assert failure.value.__notes__ == ["no such model"]
    assert child.engine.status == "failed"
    await soon(child.engine.aclose())


async def test_an_engine_that_ends_right_after_ready_is_given_up_in_the_end():
    code = r"print('\x01\x01READY\x01\x01\nCAPS ext=1', flush=True)"
    child = Child(*python(code))
    with pytest.raises(EngineFailed, match="exited with status 0 while it loaded"):
        await soon(child.engine.start())
    await soon(child.engine.aclose())


async def test_a_program_that_is_not_there_is_named():
    with pytest.raises(LinkBroken, match="no-such-engine"):
        await ProcessLink.spawn(["no-such-engine"])


async def test_an_engine_that_hangs_is_killed_and_its_requests_are_failed_by_name():
    async with serving("--tokens", "500", "--delay", "0.01", patience=Patience(stall=0.2, tick=0.05)) as child:
        stream = await child.engine.submit(asking("hello", max_tokens=500))
        assert isinstance(await soon(anext(stream)), Accept)
        os.kill(child.links[0].pid, signal.SIGSTOP)
        with pytest.raises(EngineFailed, match="wrote nothing") as failure:
            await outputs(stream)
        assert failure.value.code is Code.ENGINE_CRASHED
    assert str(child.links[0].exit_status) == "was killed by SIGKILL"


@pytest.mark.seeds("S108")
async def test_a_stop_that_cannot_be_written_ends_its_stream_only_by_name():
    async with serving("--tokens", "500", "--delay", "0.01") as child:
        stream = await child.engine.submit(asking("hello", max_tokens=500))
        assert isinstance(await soon(anext(stream)), Accept)
        child.links[0]._stdin.close()
        await stream.stop()
        with pytest.raises(EngineFailed):
            await outputs(stream)
        assert await text(await child.engine.submit(asking("next", max_tokens=3)))


async def test_a_slow_reader_slows_the_engine_and_loses_nothing():
    link = await ProcessLink.spawn(SIMULATED)
    link.write(b"SUBMIT 1 0 15 4096 0 1\n!flood 30000000\n")
    await soon(link.drain())
    received = 0
    while received < 30_000_000:
        data = await soon(link.read())
        assert data, "the engine must not give up"
        assert len(data) <= 262_144
        received += len(data)
    await soon(link.close())
    assert str(link.exit_status) == "exited with status 0"


@pytest.mark.seeds("S111")
def test_the_engine_dies_of_sigpipe_at_its_next_write_when_the_reader_is_gone():
    child = subprocess.Popen(
        [*SIMULATED, "--tokens", "100000", "--delay", "0.001"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdin
    assert child.stdout
    assert child.stderr
    child.stdin.write(b"SUBMIT 1 0 5 4000 0 1\nhello\n")
    child.stdin.flush()
    while not child.stdout.readline().startswith(b"DATA"):
        pass
    child.stdout.close()
    assert child.wait(20) == -signal.SIGPIPE
    assert child.stderr.read() == b"", "nothing is reported after that point"
    child.stdin.close()
    child.stderr.close()


@pytest.mark.seeds("S111")
async def test_a_child_is_started_with_the_default_action_on_sigpipe_and_in_its_own_session():
    # Python, and so our own test process, ignores SIGPIPE; `sleep` has what it was given.
    assert signal.SIGPIPE in ignored_signals(os.getpid())
    link = await ProcessLink.spawn(["sleep", "60"])
    assert signal.SIGPIPE not in ignored_signals(link.pid)
    assert os.getsid(link.pid) == link.pid != os.getsid(0)
    link.kill()
    await soon(link.close())
    assert str(link.exit_status) == "was killed by SIGKILL"


async def test_closing_goes_from_the_end_of_input_to_sigterm():
    link = await ProcessLink.spawn(["sleep", "60"])
    await soon(link.close(drain=0.05))
    assert str(link.exit_status) == "was killed by SIGTERM"


async def test_the_log_is_kept_to_its_last_lines():
    code = "import sys; [print(f'line {n}', file=sys.stderr) for n in range(50)]; print('x' * 9000, file=sys.stderr)"
    link = await ProcessLink.spawn(python(code))
    assert await soon(link.read()) == b""
    await soon(link.close())
    assert link.last_words[0] == "line 31"
    assert [len(line) for line in link.last_words[-1:]] == [2000]
    with pytest.raises(LinkBroken):
        link.write(b"too late")


async def test_requests_end_before_the_engine_does():
    async with serving("--tokens", "10", "--delay", "0.02") as child:
        stream = await child.engine.submit(asking("hello"))
        assert isinstance(await soon(anext(stream)), Accept)
        closing = asyncio.create_task(child.engine.aclose())
        frames = await outputs(stream)
        await soon(closing)
    assert [type(frame) for frame in frames] == [Data] * 10 + [Done]
