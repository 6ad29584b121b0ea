"""One run of atheris over one target: `python -m fuzz.engine TARGET LIBFUZZER-OPTIONS...`. Started by `python -m fuzz`."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["streamparse"]):
    from .targets import TARGETS
    from .twins import load_twin

    load_twin("interpreted")  # instrumented, too, where the compiled one is the default

if __name__ == "__main__":
    target = TARGETS[sys.argv[1]]
    atheris.Setup([sys.argv[0], *sys.argv[2:]], target)
    atheris.Fuzz()
