"""Serves a model with xllamacpp; run by the Python that has it, so it imports nothing of ours.

python xllamacpp_server.py MODEL PORT SLOTS CONTEXT THREADS
"""

from __future__ import annotations

import signal
import sys

import xllamacpp  # type: ignore[import-not-found]  # a peer, in an environment of its own


def main(model: str, port: int, slots: int, context: int, threads: int) -> None:
    """Serve until SIGTERM. ``context`` is the total of all slots, as llama-server counts it."""
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.port = port
    params.n_parallel = slots
    params.n_ctx = context
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    main(sys.argv[1], *(int(word) for word in sys.argv[2:6]))
