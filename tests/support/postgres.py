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
    """A running server. ``tables`` is the URL of a database that tests share one after another, once somebody has made it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made = 0
        self.tables: str | None = None

    def url(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self._folder}"

    async def new_database(self) -> str:
        """The URL of a database that nobody has used."""
        self._made += 1
        name = f"store_{self._made}"
        await self.run(self.url("postgres"), f"CREATE DATABASE {name}")
        return self.url(name)

    async def run(self, url: str, statements: str) -> None:
        """Do it in the database at ``url``."""
        import asyncpg

        connection = await asyncpg.connect(url)
        try:
            await connection.execute(statements)
        finally:
            await connection.close()


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
