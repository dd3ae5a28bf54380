"""What the house promises about itself and no single module can show: who knows what, and what a process loads.

The arrows between packages are import-linter's contracts in pyproject.toml; sizes are scripts/check_sizes.py.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import check_sizes

SOURCE = Path(__file__).resolve().parent.parent / "src" / "dragoman"

# A family is a file in dialects/; nobody else may ask which one it is. As words, or as parts of a name.
FAMILIES = re.compile(
    r"(?<![a-z])(chatml|qwen|glm|deepseek|kimi|mimo|mistral|gemma|harmony|gpt.?oss|inkling|olmoe|granite|hermes|minimax|phi[34])",
    re.IGNORECASE,
)

IMPORT_BLOCKER = """
import sys
from importlib.abc import MetaPathFinder

class Blocker(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in {blocked}:
            raise ImportError(f"{{name}} must not be imported here")

sys.meta_path.insert(0, Blocker())
import importlib
for name in {modules!r}:
    importlib.import_module(name)
"""


def names_and_texts(source):
    """Every identifier and string of a module with its line; docstrings and comments are for people and stay out."""
    tree = ast.parse(source)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.alias(name=name):
                yield name, node.lineno
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno
            case ast.Constant(value=str(text)) if id(node) not in docstrings:
                yield text, node.lineno


def family_mentions(source):
    return [f"{line}: {text}" for text, line in names_and_texts(source) if FAMILIES.search(text)]


def modules(package):
    """Dotted names of a package and all its modules."""
    root = SOURCE.parent
    files = sorted((SOURCE / package).rglob("*.py"))
    return [".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__") for file in files]


def import_in_child(*modules, blocked):
    return subprocess.run(
        [sys.executable, "-c", IMPORT_BLOCKER.format(modules=modules, blocked=blocked)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_no_module_outside_dialects_knows_a_model_family():
    mentions = {
        str(file.relative_to(SOURCE)): found
        for file in sorted(SOURCE.rglob("*.py"))
        if file.relative_to(SOURCE).parts[0] != "dialects" and (found := family_mentions(file.read_text("utf-8")))
    }
    assert mentions == {}


@pytest.mark.parametrize("code", ["if name == 'qwen3': pass", "import glm4", "def parse_kimi(): pass", "x.GptOss"])
def test_a_mention_of_a_family_is_found_as_text_or_as_name(code):
    assert family_mentions(code)


@pytest.mark.parametrize("code", ["'''Qwen users expect this.'''", "# glm\n", "philosophy = 'agenda'"])
def test_prose_and_other_words_are_no_mention(code):
    assert not family_mentions(code)


@pytest.mark.parametrize("module", ["dragoman.gateway.app", "dragoman.compose", "dragoman.cli"])
def test_the_gateway_process_loads_neither_llama_cpp_nor_numpy(module):
    child = import_in_child(module, blocked={"llama_cpp", "numpy"})
    assert child.returncode == 0, child.stderr


def test_wire_formats_and_families_load_no_web_framework():
    pure = [*modules("surfaces"), *modules("dialects"), *modules("protocol"), *modules("scheduler")]
    child = import_in_child(*pure, blocked={"starlette", "uvicorn", "llama_cpp", "numpy"})
    assert child.returncode == 0, child.stderr


def test_a_blocked_import_is_noticed():
    child = import_in_child("dragoman.gateway.app", blocked={"starlette"})
    assert child.returncode != 0
    assert "starlette must not be imported here" in child.stderr


def test_files_stay_small():
    assert check_sizes.faults(check_sizes.source_sizes(), check_sizes.REASONS) == []
