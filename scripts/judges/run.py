"""Hold the server against programs of others, with the demo model or one that does what they hope for: ``run.py [NAME ...]``, all of them without a name.

- ``lm_eval``: lm-evaluation-harness scores and generates through Completions, sixteen prompts to a request and one. Its numbers must be
  those of the engine, asked directly.
- ``openai_tests``: the tests that openai-python has of its own methods, in strict mode: each call with every parameter.
- ``anthropic_tests``: likewise those of anthropic-python.
- ``anthropic_document``: random bodies, right and wrong, of Messages as Anthropic's SDK types them; answers are held against its types.
- ``openai_document``: likewise for Responses and conversations as OpenAI describes them. Needs ``OPENAI_DOCUMENT``.
- ``open_responses``: the compliance suite of Open Responses. Needs ``OPEN_RESPONSES``.
- ``chat_templates``: Transformers, which must render the same prompts with the chat templates of real models.
- ``schemas``: random JSON Schemas, whose answers another implementation must find valid.
- ``tool_calls``: random tools, one of which must be called, and whose schemas the calls must be valid under.

They live in an environment of their own, in the user's cache directory.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from anthropic_document import judge as anthropic_document
from anthropic_tests import judge as anthropic_tests
from chat_templates import judge as chat_templates
from environment import Judges, ready
from lm_eval_scores import judge as lm_eval
from open_responses import judge as open_responses
from openai_document import judge as openai_document
from openai_tests import judge as openai_tests
from schemas import judge as schemas
from served import serving
from tool_calls import judge as tool_calls

from dragoman.compose import find_model
from dragoman.settings import Settings

JUDGES: Final[dict[str, Callable[[Judges, str, Path, Path], list[str]]]] = {
    "lm_eval": lm_eval,
    "openai_tests": openai_tests,
    "anthropic_tests": anthropic_tests,
    "anthropic_document": anthropic_document,
    "openai_document": openai_document,
    "open_responses": open_responses,
    "chat_templates": chat_templates,
    "schemas": schemas,
    "tool_calls": tool_calls,
}
"""Each takes the environment, the server's address, the model and an empty folder, and gives what it finds wrong."""


def main(names: list[str]) -> int:
    """Print each verdict; 1 where there is a fault."""
    if unknown := [name for name in names if name not in JUDGES]:
        print(f"no judge is called {unknown[0]}: {', '.join(JUDGES)}", file=sys.stderr)
        return 2
    judges, model, faults = ready(), find_model(Settings()), 0
    with ExitStack() as stack:
        url = stack.enter_context(serving(model))
        for name in names or JUDGES:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            print(f"== {name}", flush=True)
            try:
                found = JUDGES[name](judges, url, model, folder)
            except subprocess.SubprocessError as error:
                found = [f"it failed: {error}"]
            faults += len(found)
            print("\n".join(found) or "no fault", flush=True)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
