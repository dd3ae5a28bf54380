"""Run by the judges' Python: render cases with Transformers. ``transformers_renders.py CASES RENDERS``, both JSON files."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from transformers.utils import chat_template_utils  # type: ignore[import-not-found]  # the judges' environment has it

_TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}


def main(cases: Path, renders: Path) -> None:
    """Write what each template makes of each case, or null where it fails."""
    asked = json.loads(cases.read_text(encoding="utf-8"))

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Self:  # noqa: ARG003 -- the signature of what it stands for
            return cls.fromisoformat(asked["now"])

    chat_template_utils.datetime = Clock
    answers = {
        name: {case: _rendered(source, **how) for case, how in asked["cases"].items()}
        for name, source in asked["templates"].items()
    }
    renders.write_text(json.dumps(answers), encoding="utf-8")


def _rendered(source: str, *, messages: list[Any], tools: list[Any] | None) -> str | None:
    try:
        texts, _ = chat_template_utils.render_jinja_template(
            [messages],
            tools=tools,
            chat_template=source,
            add_generation_prompt=True,
            **_TOKENS,
        )
    except Exception:  # noqa: BLE001 -- a template may raise anything
        return None
    return str(texts[0])


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
