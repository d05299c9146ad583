"""Build a wheel that carries compiled kernels, for this system and this minor version of Python.

    python packaging/wheel.py [--output dist]

A plain wheel is built and unpacked, its kernels are compiled for a generic processor into the copy,
and it is packed again with the tags of this system and Python. Whoever installs it with the release
of numba that it was built with has nothing to compile; with another one all works as from source.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
GLIBC = "2_17"  # there is no machine code that depends on it; numba's own wheels ask for more


def platform_tag() -> str:
    """Return the tag of this system: on Linux, any that is not older than numba's."""
    tag = re.sub(r"[.-]", "_", sysconfig.get_platform())
    return tag.replace("linux_", f"manylinux_{GLIBC}_", 1) if tag.startswith("linux_") else tag


def tag() -> str:
    """Return the tags of the wheel."""
    return f"cp{sys.version_info.major}{sys.version_info.minor}-none-{platform_tag()}"


def plain_wheel(folder: Path) -> Path:
    """Build the wheel that has sources only."""
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"]
    subprocess.run([*pip, str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def compile_into(copy: Path, cache: Path, tasks: list[str]) -> None:
    """Compile the kernels of an unpacked wheel into it."""
    sys.path.insert(0, str(copy))
    from sticktree.jit.ship import generic

    environment = {
        **os.environ,
        **generic(),
        "PYTHONPATH": str(copy),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(cache),
    }
    ship = [sys.executable, "-m", "sticktree.jit.ship", *tasks]
    subprocess.run(ship, check=True, env=environment)


def pack(copy: Path, folder: Path) -> Path:
    """Pack a copy as a wheel for this system and Python."""
    (about,) = copy.glob("*.dist-info")
    described = about / "WHEEL"
    lines = described.read_text(encoding="utf-8").splitlines()
    lines = [line for line in lines if not line.startswith(("Tag:", "Root-Is-Purelib:"))]
    lines = [*lines, "Root-Is-Purelib: false", f"Tag: {tag()}"]
    described.write_text("\n".join(lines) + "\n", encoding="utf-8")
    record = about / "RECORD"
    files = sorted(path for path in copy.rglob("*") if path.is_file() and path != record)
    rows = []
    for path in files:
        content = path.read_bytes()
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.append(f"{path.relative_to(copy).as_posix()},sha256={digest},{len(content)}")
    rows.append(f"{record.relative_to(copy).as_posix()},,")
    record.write_text("\n".join(rows) + "\n", encoding="utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{about.name.removesuffix('.dist-info')}-{tag()}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in [*files, record]:
            archive.write(path, path.relative_to(copy).as_posix())
    return wheel


def main() -> None:
    """Build."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=ROOT / "dist", metavar="FOLDER")
    parser.add_argument(
        "--tasks",
        nargs="*",
        default=[],
        metavar="TASK",
        help="only what these need, such as 'fit shared gibbs' [everything in entries.json]",
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        copy = work / "copy"
        with zipfile.ZipFile(plain_wheel(work)) as archive:
            archive.extractall(copy)
        compile_into(copy, work / "cache", options.tasks)
        wheel = pack(copy, options.output)
    print(f"{wheel} ({wheel.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
