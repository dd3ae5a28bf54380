"""A PostgreSQL server of our own: made in a temporary directory, on a socket in it, gone with it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DEBIAN = Path("/usr/lib/postgresql")  # its packages keep the server's programs out of PATH, one folder for each version


def programs() -> Path | None:
    """The folder with initdb and pg_ctl, the newest if there are several."""
    folders = sorted(DEBIAN.glob("*/bin"), key=lambda folder: int(folder.parent.name))
    if (found := shutil.which("pg_ctl")) is not None:
        folders.append(Path(found).parent)
    return next((folder for folder in reversed(folders) if (folder / "initdb").exists()), None)


class Cluster:
    """A running server."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made = 0
        self.model: str | None = None
        """A database to be copied, once somebody has made it."""

    def url(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self._folder}"

    async def new_database(self, *, like: str = "template1") -> str:
        """The URL of a database of its own, empty or a copy of another."""
        import asyncpg

        self._made += 1
        name = f"store_{self._made}"
        connection = await asyncpg.connect(host=str(self._folder), user="postgres", database="postgres")
        try:
            await connection.execute(f"CREATE DATABASE {name} TEMPLATE {like}")
        finally:
            await connection.close()
        return self.url(name)


@contextmanager
def cluster(binaries: Path) -> Iterator[Cluster]:
    """A server for as long as it is wanted. It does not run as root, so root lends it another user."""
    folder = Path(tempfile.mkdtemp(prefix="pg-"))  # a socket's path may have 107 bytes
    user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if user:
        shutil.chown(folder, "postgres")
    data = folder / "data"

    def run(program: str, *arguments: str) -> None:
        command = [*user, str(binaries / program), "-D", str(data), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=60, cwd=folder)

    options = f"-k {folder} -c listen_addresses='' -c fsync=off -c max_connections=200"
    try:
        run("initdb", "--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C")
        run("pg_ctl", "-w", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield Cluster(folder)
        finally:
            run("pg_ctl", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
