"""`python -m benchmarks`: make the environment with the pinned peers, install this checkout into it, and measure.

`--here` uses the running interpreter, what it can import, and the checkout as it lies there (nothing is installed):
for a quick look while working on the machine. The other options are those of `benchmarks/run.py`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent
ENVIRONMENT = FOLDER / ".venv"


def digest(*paths: Path) -> str:
    found = hashlib.sha256(sys.version.encode())
    for path in paths:
        found.update(path.read_bytes())
    return found.hexdigest()


def pip(*arguments: str, **environment: str) -> bool:
    command = [
        str(ENVIRONMENT / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        *arguments,
    ]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip() or "no reason given").splitlines()
        print(f"  not installed: {arguments[-1]} ({lines[-1][:160]})", file=sys.stderr)
    return done.returncode == 0


def fresh(name: str, now: str) -> bool:
    """True when the step `name` was last done with what is there now."""
    mark = ENVIRONMENT / f"{name}.sha256"
    return mark.exists() and mark.read_text() == now


def done(name: str, now: str) -> None:
    (ENVIRONMENT / f"{name}.sha256").write_text(now)


def prepare() -> None:
    requirements = FOLDER / "requirements.txt"
    peers = digest(requirements)
    if not fresh("peers", peers):
        print(f"installing the peers into {ENVIRONMENT}", file=sys.stderr)
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
        for line in requirements.read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                pip(line)
        done("peers", peers)
    sources = digest(
        *sorted((ROOT / "streamparse").rglob("*.py")),
        *sorted((ROOT / "streamparse").rglob("*.pxd")),
        ROOT / "setup.py",
        ROOT / "pyproject.toml",
    )
    if not fresh("streamparse", sources):
        print("installing this checkout", file=sys.stderr)
        with tempfile.TemporaryDirectory() as folder:  # a build leaves files where it works
            for name in ("setup.py", "pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "MANIFEST.in"):
                shutil.copy(ROOT / name, folder)
            shutil.copytree(
                ROOT / "streamparse",
                Path(folder) / "streamparse",
                ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"),
            )
            if not pip("--force-reinstall", "--no-deps", folder, STREAMPARSE_BUILD="auto"):
                sys.exit("streamparse itself does not install")
        done("streamparse", sources)


def main() -> int:
    arguments = sys.argv[1:]
    if "--here" in arguments:
        from .run import main as run

        return run([one for one in arguments if one != "--here"])
    if "--help" not in arguments and "-h" not in arguments:
        prepare()
    python = ENVIRONMENT / "bin" / "python"
    # The checkout comes last on the path: `streamparse` is the installed one, only `benchmarks` is found here.
    code = f"import sys; sys.path.append({str(ROOT)!r}); from benchmarks.run import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.run(
        [str(python) if python.exists() else sys.executable, "-I", "-c", code, *arguments], check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
