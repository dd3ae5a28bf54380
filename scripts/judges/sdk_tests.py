"""An SDK's tests of its own methods, held against this server: each call, typed loosely and strictly.

They are written for a mock that answers anything, so their calls are mended: a model that is served, ids of things that are stored, and
nothing that this server refuses by name.
"""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from environment import Judges

STORED: Final = Path(__file__).with_name("stored_things.py")
MODELS: Final = re.compile(r"gpt-.+|claude-.+|model_id|model")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mending:
    """What is changed in the calls of one file of tests.

    ``stored`` are expressions over ``stored_things``, by the string that they replace. ``dropped`` are keywords of a method, and why they
    cannot be sent; ``added`` are keywords for a method that a test leaves out, as source text. ``values`` are whole values, as source
    text, by the source text of what they replace.
    """

    stored: Mapping[str, str] = field(default_factory=dict)
    dropped: Mapping[tuple[str, str], str] = field(default_factory=dict)
    added: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)


def mended(source: str, mending: Mending) -> str:
    """The tests with other calls, and with the means to store things first."""
    tree = ast.parse(source)
    _Mender(mending).visit(tree)  # changes it in its place
    future, rest = tree.body[0], tree.body[1:]  # every file of theirs begins with the import of annotations
    return ast.unparse(ast.Module([future, *ast.parse("from tests import stored_things").body, *rest], []))


class _Mender(ast.NodeTransformer):
    def __init__(self, mending: Mending) -> None:
        self._mending = mending

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr) and (value := self._mending.values.get(ast.unparse(node))):
            return _expression(value)
        mended_node: ast.AST = super().visit(node)
        return mended_node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        expression = self._mending.stored.get(node.value) if isinstance(node.value, str) else None
        return node if expression is None else _expression(f"stored_things.{expression}")

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node.func:
            case ast.Attribute(attr=method):
                self._mend(node, method)
            case _:
                pass
        return node

    def _mend(self, node: ast.Call, method: str) -> None:
        node.keywords = [each for each in node.keywords if (method, each.arg) not in self._mending.dropped]
        sent = {each.arg for each in node.keywords}
        added = self._mending.added.get(method, {})
        node.keywords += [ast.keyword(name, _expression(value)) for name, value in added.items() if name not in sent]
        for keyword in node.keywords:
            if keyword.arg in ("model", "model_id"):
                if not isinstance(keyword.value, ast.Constant):  # a name that the SDK must see, and the server need not
                    node.keywords.append(ast.keyword("extra_body", _expression("{'model': 'default'}")))
                    return
                if keyword.value.value:  # none at all is for the SDK to refuse
                    keyword.value = ast.Constant("default")
        node.args = [ast.Constant("default") if _is_model(argument) else argument for argument in node.args]


def _is_model(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(MODELS.fullmatch(node.value))


def _expression(source: str) -> ast.expr:
    return ast.parse(source, mode="eval").body


def failures(
    judges: Judges,
    source: Path,
    folder: Path,
    *,
    base_url: str,
    files: Mapping[str, Mending],
    chosen: str,
    expected: Mapping[str, str],
) -> list[str]:
    """Tests of ``files`` that failed unexpectedly, those of ``chosen`` names; ``expected`` are beginnings of names, and why they must fail."""
    shutil.copytree(source, folder, dirs_exist_ok=True)
    shutil.copy(STORED, folder / "tests")
    tests = [folder / "tests" / "api_resources" / name for name in files]
    for test, mending in zip(tests, files.values(), strict=True):
        test.write_text(mended(test.read_text(encoding="utf-8"), mending), encoding="utf-8")
    options = ("-o", "addopts=", "-p", "no:cacheprovider", "-q", "--tb=line", "-k", chosen)
    done = judges.run("-m", "pytest", *tests, *options, cwd=folder, TEST_API_BASE_URL=base_url)
    print(done.stdout.rstrip().rpartition("\n")[2])
    for (method, keyword), why in {key: why for each in files.values() for key, why in each.dropped.items()}.items():
        print(f"without `{keyword}` of `{method}`: {why}")
    failed: Sequence[str] = re.findall(r"^FAILED \S*?api_resources/(\S+)", done.stdout, re.MULTILINE)
    known = [name for name in failed if name.startswith(tuple(expected))]
    for start, why in expected.items():
        print(f"{sum(name.startswith(start) for name in known)} failed as they must: {why}")
    if not failed and done.returncode:
        return [done.stdout]
    reasons = "\n".join(sorted(set(re.findall(r"^E  .*", done.stdout, re.MULTILINE))))
    faults = [f"failed: {name}" for name in failed if name not in known]
    return [*faults, reasons] if faults else []
