"""The store of the settings, and what it costs those who need none."""

from __future__ import annotations

import subprocess
import sys


def test_commands_that_keep_nothing_do_not_wait_for_the_database_s_libraries() -> None:
    """Together SQLAlchemy and Alembic take about as long to import as all the rest."""
    script = "import sys, dragoman.cli; print({'sqlalchemy', 'alembic'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"
