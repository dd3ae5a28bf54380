"""openai-python's tests of its own methods: Chat Completions, Completions and models, each with every parameter, typed strictly."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Final

from environment import Judges

FILES: Final = ("chat/test_completions.py", "test_completions.py", "test_models.py")
SERVED: Final = "not Async and (create or (Models and not delete))"
"""Neither stored completions nor fine-tuned models can be fetched or deleted here."""

EXPECTED: Final = {
    "test_completions.py::TestCompletions::test_method_create_with_all_params": "the demo model has no tokens for `suffix`"
}
"""Tests that must fail, by the start of their names, and why."""


def judge(judges: Judges, url: str, _model: Path, folder: Path) -> list[str]:
    """Tests that failed unexpectedly."""
    shutil.copytree(judges.openai_source, folder, dirs_exist_ok=True)
    tests = [folder / "tests" / "api_resources" / name for name in FILES]
    for test in tests:
        text = test.read_text(encoding="utf-8")
        text = re.sub(r'"gpt-[^"]+"', '"default"', text)  # they name OpenAI's models
        # Answers of unbounded length to a prompt of nothing take a small model minutes, and say nothing of the types.
        text = text.replace('model="default",\n        )', 'model="default",\n            max_tokens=16,\n        )')
        test.write_text(text, encoding="utf-8")
    options = ("-o", "addopts=", "-p", "no:cacheprovider", "-q", "--tb=line", "-k", SERVED)
    done = judges.run("-m", "pytest", *tests, *options, cwd=folder, TEST_API_BASE_URL=f"{url}/v1")
    print(done.stdout.rstrip().rpartition("\n")[2])
    failed = re.findall(r"^FAILED \S*?api_resources/(\S+)", done.stdout, re.MULTILINE)
    known = [name for name in failed if name.startswith(tuple(EXPECTED))]
    for start, why in EXPECTED.items():
        print(f"{sum(name.startswith(start) for name in known)} failed as they must: {why}")
    if not failed and done.returncode:
        return [done.stdout]
    return [f"failed: {name}" for name in failed if name not in known]
