"""Which model is served, and under which name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFWriter

from dragoman.compose.failure import StartFailed
from dragoman.compose.models import find_model, find_projector, served_name
from dragoman.settings import Settings


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("SmolLM2-135M-Instruct.Q4_1.gguf", "smollm2-135m-instruct"),
        ("Qwen3-0.6B-Q8_0.gguf", "qwen3-0.6b"),
        ("gemma-3-270m-it-Q4_K_M.gguf", "gemma-3-270m-it"),
        ("Llama-3.2-1B-Instruct-IQ3_XXS.gguf", "llama-3.2-1b-instruct"),
        ("gpt-oss-20b-mxfp4.gguf", "gpt-oss-20b"),
        ("model-bf16.gguf", "model"),
        ("GLM-4.5-Q2_K-00001-of-00003.gguf", "glm-4.5"),
        ("phi-4.gguf", "phi-4"),
    ],
)
def test_the_name_is_the_files_without_its_number_format(file: str, name: str) -> None:
    assert served_name(Settings(model=Path("/models") / file)) == name


def test_the_demo_model_has_its_name_even_where_it_is_not_installed() -> None:
    assert served_name(Settings()) == "smollm2-135m-instruct"


def test_the_operator_may_name_the_model() -> None:
    assert served_name(Settings(model=Path("x.gguf"), model_name="House Model")) == "House Model"


def test_a_model_that_is_missing_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StartFailed, match=r"absent\.gguf cannot be read: No such file") as caught:
        find_model(Settings(model=tmp_path / "absent.gguf"))
    assert caught.value.hint == "give the path of a .gguf file"


def test_a_directory_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(StartFailed, match="cannot be read: Is a directory"):
        find_model(Settings(model=tmp_path))


def test_a_file_of_another_format_is_no_model(tmp_path: Path) -> None:
    path = tmp_path / "pytorch_model.bin"
    path.write_bytes(b"PK\x03\x04")
    with pytest.raises(StartFailed, match="is not a GGUF file"):
        find_model(Settings(model=path))


def test_a_gguf_file_is_found(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF....")
    assert find_model(Settings(model=path)) == path


def gguf(path: Path, architecture: str, *, cut: int = 0) -> Path:
    """A file with a tensor, written by the ``gguf`` package; without its last ``cut`` bytes."""
    writer = GGUFWriter(path, architecture)
    writer.add_tensor("one", np.zeros(64, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    if cut:
        path.write_bytes(path.read_bytes()[:-cut])
    return path


def test_a_projector_is_found_and_none_is_needed(tmp_path: Path) -> None:
    path = gguf(tmp_path / "mmproj.gguf", "clip")
    assert find_projector(Settings(projector=path)) == path
    assert find_projector(Settings()) is None


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda path: path, r"mmproj\.gguf cannot be read: No such file"),
        (lambda path: path.write_bytes(b"PNG"), "is not a GGUF file that can be used"),
        (lambda path: gguf(path, "clip", cut=300), "it ends within its head"),
        (lambda path: gguf(path, "llama"), r"is a model \(llama\) and no projector"),
    ],
    ids=["absent", "another format", "cut short", "a model"],
)
def test_a_projector_that_is_none_stops_the_start_and_says_why(tmp_path: Path, write, words: str) -> None:
    path = tmp_path / "mmproj.gguf"
    write(path)
    with pytest.raises(StartFailed, match=words) as caught:
        find_projector(Settings(projector=path))
    assert caught.value.hint
