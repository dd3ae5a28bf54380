"""Tests and the manifest of features agree: what a surface has is tested on it, and what is tested is said to be there."""

from __future__ import annotations

import ast
from pathlib import Path

from features import FEATURES, GROUPS, SURFACES, No, Yes

TESTS = Path(__file__).resolve().parent


def marked_cells(source):
    """Feature and surface, for each surface that a `pytest.mark.feature(...)` in the text of a test module names."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(attr="feature", value=ast.Attribute(attr="mark"))):
                feature, *surfaces = (argument.value for argument in node.args)
                yield from ((feature, surface) for surface in surfaces)


def cells_by_test_file():
    files = sorted(TESTS.rglob("test_*.py"))
    return {str(file.relative_to(TESTS)): set(marked_cells(file.read_text(encoding="utf-8"))) for file in files}


def test_marks_are_found_on_functions_and_modules():
    source = """
pytestmark = pytest.mark.feature("a", "chat")
@pytest.mark.feature("b", "chat", "messages")
def test_x(): ...
"""
    assert set(marked_cells(source)) == {("a", "chat"), ("b", "chat"), ("b", "messages")}


def test_every_feature_that_a_surface_has_is_named_by_a_test():
    named = set().union(*cells_by_test_file().values())
    said = {
        (name, surface)
        for name, feature in FEATURES.items()
        for surface in SURFACES
        if isinstance(feature.on(surface), Yes)
    }
    assert sorted(said - named) == []


def test_no_test_names_a_feature_that_its_surface_does_not_have():
    wrong = {
        f"{file}: {name} of {surface}"
        for file, cells in cells_by_test_file().items()
        for name, surface in cells
        if name not in FEATURES or surface not in SURFACES or not isinstance(FEATURES[name].on(surface), Yes)
    }
    assert sorted(wrong) == []


def test_what_a_surface_does_not_have_has_a_reason_and_what_nobody_has_is_no_feature():
    for name, feature in FEATURES.items():
        cells = [feature.on(surface) for surface in SURFACES]
        assert all(cell.reason for cell in cells if isinstance(cell, No)), name
        assert any(isinstance(cell, Yes) for cell in cells), name


def test_no_name_is_that_of_two_features():
    assert sum(map(len, GROUPS.values())) == len(FEATURES)
