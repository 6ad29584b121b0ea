"""`python -m fuzz TARGET [SECONDS]`: fuzz one target with atheris; faults are saved in fuzz/regressions/TARGET.

`python -m fuzz TARGET FILE...` runs the target over files, without the engine.
"""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(__file__).parent
CORPUS = FOLDER / "corpus"  # grows while fuzzing, not kept in the repository
REGRESSIONS = FOLDER / "regressions"


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0
    name, *rest = arguments
    if rest and not rest[0].isdigit():
        from .targets import TARGETS

        for file in rest:
            TARGETS[name](Path(file).read_bytes())
            print(f"{file}: as it should be")
        return 0
    if not _known(name):
        return 2
    return fuzz(name, int(rest[0]) if rest else 1200)


def _known(name: str) -> bool:
    from .targets import TARGETS

    if name not in TARGETS:
        print(f"unknown target {name!r}; there are: {', '.join(TARGETS)}", file=sys.stderr)
    return name in TARGETS


def fuzz(name: str, seconds: int) -> int:
    """Run the engine in its own process: it ends the process that it runs in. Go on after each fault until the time is over."""
    from .seeds import dictionary, seeds
    from .twins import load_twin

    print(f"atheris {importlib.metadata.version('atheris')}; compiled twin: {'here' if load_twin('compiled') else 'NOT here, only the interpreted one is fuzzed'}")
    corpus = CORPUS / name
    faults = REGRESSIONS / name
    corpus.mkdir(parents=True, exist_ok=True)
    faults.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds(name)):
        (corpus / f"seed-{number:03}").write_bytes(seed)
    words = CORPUS / "tokens.dict"
    words.write_text(dictionary(), encoding="ascii")
    end = time.monotonic() + seconds
    found = 0
    while (left := int(end - time.monotonic())) > 0 and found < 20:
        engine = [
            sys.executable, "-m", "fuzz.engine", name, str(corpus), f"-dict={words}", f"-artifact_prefix={faults}/",
            f"-max_total_time={left}", "-max_len=" + ("6000" if name in ("captures", "adapters") else "400"), "-timeout=30", "-rss_limit_mb=2000", "-print_final_stats=1",
        ]  # fmt: skip
        if subprocess.run(engine, check=False).returncode == 0:
            break
        found += 1
    print(f"{name}: {found} faults in {seconds} s; saved in {faults}")
    if not any(faults.iterdir()):
        faults.rmdir()
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
