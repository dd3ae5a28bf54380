"""Files stay small: 400 lines, or a reason in the list below; 600 whatever the reason. Tests need no reason."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SMELL = 400
LIMIT = 600
SUFFIXES = {".py", ".ts", ".tsx", ".js", ".css"}

# Path -> why one idea takes more than 400 lines there.
REASONS: dict[str, str] = {}


def faults(sizes: dict[str, int], reasons: dict[str, str]) -> list[str]:
    """What is wrong with files of these ``sizes`` (lines by path); reasons that no file needs any more are wrong too."""
    found = []
    for path, lines in sorted(sizes.items()):
        if lines > LIMIT:
            found.append(f"{path} has {lines} lines; {LIMIT} is the end, split it")
        elif lines > SMELL and path not in reasons and not path.startswith("tests/"):
            found.append(f"{path} has {lines} lines; above {SMELL} it needs a reason in scripts/check_sizes.py")
    found += [f"{path} needs no reason any more" for path in sorted(reasons) if sizes.get(path, 0) <= SMELL]
    return found


def source_sizes() -> dict[str, int]:
    """Lines of every source file that git knows, or would add."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    paths = [ROOT / name for name in listing.split("\0") if Path(name).suffix in SUFFIXES]
    return {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in paths
        if path.is_file() and "tests/fixtures" not in path.as_posix()
    }


def main() -> int:
    """Print the faults; 1 when there are any."""
    found = faults(source_sizes(), REASONS)
    for fault in found:
        print(fault)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
