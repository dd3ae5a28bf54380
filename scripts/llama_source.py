"""The source that llama.cpp is compiled from: upstream's, with the few substitutions that are listed here.

A patch would need its context lines; a substitution needs one line, says whether it still fits, and is left out where it
does not. So another llama.cpp version builds in any case, perhaps without what was gained.
"""

from __future__ import annotations

import tarfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Substitution:
    """One text in one file of the source for another. ``file`` is relative to the unpacked tree."""

    name: str
    reason: str
    file: str
    old: str
    new: str

    def apply(self, tree: Path) -> str | None:
        """Replace the text; where it is not there exactly once, leave the file alone and answer why."""
        path = tree / self.file
        if not path.is_file():
            return f"this version has no {self.file}"
        source, old = path.read_bytes(), self.old.encode()
        if (count := source.count(old)) != 1:
            return f"{self.file} has the text to replace {count} times, not once"
        path.write_bytes(source.replace(old, self.new.encode()))
        return None


# Each is made for builds that compute on the CPU alone, and argued in docs/adr.
CPU_SUBSTITUTIONS = (
    Substitution(
        name="attention-in-steps-of-64",
        reason="attention runs over a multiple of 256 cells, mostly empty ones in short sequences (docs/adr/0002)",
        file="vendor/llama.cpp/src/llama-kv-cache.cpp",
        old="const uint32_t n_pad_cur = std::max(n_pad, 256u);",
        new="const uint32_t n_pad_cur = std::max(n_pad, 64u);",
    ),
)


def unpack(archive: Path, into: Path) -> Path:
    """Unpack a source distribution; the directory that it holds."""
    with tarfile.open(archive) as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.4 and newer have it
        tar.extractall(into)  # noqa: S202  # pip has checked its hash
        root = tar.getnames()[0].split("/")[0]
    return into / root
