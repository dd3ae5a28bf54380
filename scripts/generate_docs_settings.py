"""Write docs/configuration.md from the settings table; with --check, fail when the file is not what it would write."""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

from dragoman.options import Kind, Option
from dragoman.settings import options

TARGET = Path(__file__).parent.parent / "docs" / "configuration.md"

INTRODUCTION = """\
# Configuration

<!-- Written by scripts/generate_docs_settings.py from src/dragoman/settings.py. Do not edit. -->

Each setting has a flag, an environment variable and a key in a TOML file. The first of these that has it decides:

1. the flag on the command line,
2. the variable in the environment (an empty one counts as not set),
3. the file given with `--config` or `DRAGOMAN_CONFIG`,
4. the default.

```toml
# dragoman.toml: keys are names without dashes; relative paths start at this file
model = "models/SmolLM2-135M-Instruct.Q4_1.gguf"
port = 8080
slots = 8
allowed_hosts = ["llm.example.org"]
```

A list takes several flags (`--api-key a --api-key b`), a comma-separated variable, or an array in the file. Where a
default is `auto`, or in words, `auto` on any source leaves the choice to the server. A value that cannot be used, or a
key that does not exist, stops the start with the name of the offender. A switch has a `--no-` form, such as
`--no-strict-fields`, which overrides what the other sources say.

In Kubernetes, a service that is called `dragoman` puts a `DRAGOMAN_PORT` of its own into every pod (`tcp://…`): give the service
another name, or set `enableServiceLinks: false`.
"""


def cell(option: Option) -> str:
    """What a setting takes, for the table."""
    if option.kind is Kind.CHOICE:
        return " \\| ".join(option.choices)
    if option.low is not None and option.high is not None:
        return f"{option.kind}, {option.low:g} to {option.high:g}"
    if option.low is not None:
        return f"{option.kind}, from {option.low:g}"
    return option.kind.replace("|", " \\| ")


def render() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    for group, rows in groupby(options(), key=lambda option: option.group):
        parts.append(
            f"\n## {group}\n\n| flag | variable | key | takes | default | meaning |\n|---|---|---|---|---|---|\n"
        )
        parts.extend(
            f"| `{row.flag}` | `{row.variable}` | `{row.key}` | {cell(row)} | {row.default} | {row.help} |\n"
            for row in rows
        )
    return "".join(parts)


def main() -> int:
    """Write, or compare; the exit code says whether the file is right."""
    page = render()
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(page, encoding="utf-8")
        return 0
    if TARGET.is_file() and TARGET.read_text(encoding="utf-8") == page:
        return 0
    sys.stderr.write("docs/configuration.md is out of date: run scripts/generate_docs_settings.py\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
