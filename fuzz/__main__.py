"""`python -m fuzz TARGET [SECONDS]`: fuzz one target with atheris; faults are saved in fuzz/regressions/TARGET.

`python -m fuzz TARGET FILE...` runs the target over files, without the engine.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(__file__).parent
CORPUS = FOLDER / "corpus"  # grows while fuzzing, not kept in the repository
REGRESSIONS = FOLDER / "regressions"


def main(arguments: list[str]) -> int:
    from .targets import TARGETS

    if not arguments or arguments[0] in ("-h", "--help"):
        print(f"{__doc__}\nTargets: {', '.join(TARGETS)}")
        return 0
    name, *rest = arguments
    if name not in TARGETS:
        print(f"unknown target {name!r}; there are: {', '.join(TARGETS)}", file=sys.stderr)
        return 2
    if rest and not rest[0].isdigit():
        for file in rest:
            TARGETS[name](Path(file).read_bytes())
            print(f"{file}: as it should be")
        return 0
    if importlib.util.find_spec("atheris") is None:
        print("the engine is not installed: pip install atheris", file=sys.stderr)
        return 2
    return fuzz(name, int(rest[0]) if rest else 1200)


def fuzz(name: str, seconds: int) -> int:
    """Run the engine in its own process: it ends the process that it runs in."""
    from .seeds import BODY_TARGETS, dictionary, seeds
    from .twins import load_twin

    here = "here" if load_twin("compiled") else "NOT here, only the interpreted one is fuzzed"
    print(f"atheris {importlib.metadata.version('atheris')}; compiled twin: {here}")
    corpus = CORPUS / name
    faults = REGRESSIONS / name
    corpus.mkdir(parents=True, exist_ok=True)
    faults.mkdir(parents=True, exist_ok=True)  # the engine writes its own artifacts there, too
    for number, seed in enumerate(seeds(name)):
        (corpus / f"seed-{number:03}").write_bytes(seed)
    words = CORPUS / "tokens.dict"
    words.write_text(dictionary(), encoding="ascii")
    length = 6000 if name in BODY_TARGETS else 400
    engine = [
        *(sys.executable, "-m", "fuzz.engine", name, str(faults), str(corpus)),
        *(f"-dict={words}", f"-artifact_prefix={faults}/", f"-max_total_time={seconds}", f"-max_len={length}"),
        *("-timeout=30", "-rss_limit_mb=2000", "-print_final_stats=1"),
    ]
    before = set(faults.iterdir()) if faults.is_dir() else set[Path]()
    started = time.monotonic()
    ended = subprocess.run(engine, check=False).returncode
    found = len(set(faults.iterdir()) - before) if faults.is_dir() else 0
    print(f"{name}: {found} new kinds of fault in {time.monotonic() - started:.0f} s, engine ended with {ended}")
    return 1 if found or ended else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
