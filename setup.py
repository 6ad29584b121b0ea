"""Build of the compiled twin ``streamparse._machine_c``.

There is one source: ``streamparse/machine.py`` and what belongs to it (``SOURCES``). It is installed as it is. A copy,
in one piece so that a call from one file to the other is one of C, is compiled with Cython under the name
``_machine_c``: both twins can be imported side by side and compared. ``streamparse/machine_c.pxd`` gives the copy its
C types. The integers that it imports (the states, the places in a field) are constants of C in it.

The environment variable ``STREAMPARSE_BUILD`` says what is wanted:

* ``auto`` (default): build the twin; where that fails (no C compiler, say) warn and install without it.
* ``require``: build the twin, and fail where that fails.
* ``pure``: do not build it; the wheel then fits every platform.

Everything else about the distribution is in ``pyproject.toml``.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import sys
from collections.abc import Container
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

MODES = ("auto", "require", "pure")
MODE = os.environ.get("STREAMPARSE_BUILD") or "auto"
if MODE not in MODES:
    sys.exit(f"STREAMPARSE_BUILD={MODE!r} is not known; use one of {', '.join(MODES)}")

# Lower ones first.
SOURCES = tuple(Path(f"streamparse/{name}.py") for name in ("scan", "streaming_data", "machine", "intake"))
TYPES = Path("streamparse/machine_c.pxd")
INTEGERS = (Path("streamparse/states.py"), Path("streamparse/fields.py"))
MODULE = "streamparse._machine_c"

# Annotations stay hints: only the pxd gives C types. Otherwise Cython would read `text: str` as "exactly str" and
# refuse the subclasses of str that the interpreted twin accepts.
# The classes say themselves how they pickle. Without `binding` a method is a C function, whose call is much shorter.
DIRECTIVES = {
    "language_level": "3",
    "annotation_typing": False,
    "auto_pickle": False,
    "binding": False,
    "embedsignature": True,  # for `inspect.signature` and `help`, which cannot look into a C function
    "embedsignature.format": "clinic",
}

# What the copy says that the source does not: Cython reads some directives from the class itself, not from the pxd, and
# the source is not to import Cython. Events are made by the thousand: they come from a list of freed ones and are not
# followed by the garbage collector.
CHANGES = {
    "COMPILED: Final = False": "COMPILED: Final = True",
    "\nclass StreamingData:": (
        "\n@cython.final\n@cython.freelist(1024)\n@cython.no_gc\n@cython.cclass\nclass StreamingData:"
    ),
    # Every index is checked by the code itself, and a text ends with a zero character.
    "\n    n = len(text)\n    while pos < n:\n        char = text[pos]\n": (
        "\n    n = len(text)\n    kind = PyUnicode_KIND(text)\n    data = PyUnicode_DATA(text)\n"
        "    while pos < n:\n        char = PyUnicode_READ(kind, data, pos)\n"
    ),
    "\n    def feed(self, text: str)": (
        "\n    @cython.boundscheck(False)\n    @cython.wraparound(False)\n    def feed(self, text: str)"
    ),
    # An untracked list is still counted and freed as any other.
    'For the compiled twin: setup.py fills it in."""\n': (
        'For the compiled twin: setup.py fills it in."""\n    PyObject_GC_UnTrack(field)\n'
    ),
    # The length of what is a `str`, and no subclass, needs no call.
    "\n        n = len(chunk)\n": "\n        n = PyUnicode_GET_LENGTH(chunk)\n",
    "\nclass Machine:": "\n@cython.final\n@cython.cclass\nclass Machine:",
}


def stage(folder: Path) -> Path:
    """Lay the sources of the twin in *folder* as the package that Cython expects, and return the module to compile.

    The copy ends with the hash of what was read, by which the tests notice a twin that is older than its sources.
    """
    package = folder / "streamparse"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").touch()  # makes the folder a package, so that the pxd is found under its full name
    module = package / "_machine_c.py"
    integers: dict[str, str] = {}
    for path in INTEGERS:
        found = re.findall(r"^([A-Z_]+): Final = ([0-9]+)$", path.read_text("utf-8"), re.MULTILINE)
        if not found:
            raise RuntimeError(f"{path} should hold integers, as `NAME: Final = 1`")
        integers.update(found)
    compiled = "from __future__ import annotations\n\nimport cython\n"
    for path in SOURCES:
        compiled += without_imports(path.read_text("utf-8"), integers)
    for old, new in CHANGES.items():
        if compiled.count(old) != 1:
            raise RuntimeError(f"the sources of the twin should hold {old!r} once")
        compiled = compiled.replace(old, new)
    # The loops look at positions that they have checked; the call that Cython makes for an index checks them again.
    compiled = compiled.replace(" char = text[pos]\n", " char = CHAR_AT(text, pos)\n")
    compiled = compiled.replace(" char = text[stop]\n", " char = CHAR_AT(text, stop)\n")
    compiled = compiled.replace("text.isascii()", "PyUnicode_IS_ASCII(text)")
    # A call of the class goes through its metaclass.
    compiled = compiled.replace("event = StreamingData()\n", "event = StreamingData.__new__(StreamingData)\n")
    compiled = compiled.replace(" COMPILED", " True")  # known to the compiler, who drops the other branch
    sources = b"".join(path.read_bytes() for path in (*SOURCES, TYPES, *INTEGERS))
    compiled += f'\nSOURCE_SHA256 = "{hashlib.sha256(sources).hexdigest()}"\n'
    module.write_text(compiled, "utf-8")
    constants = "".join(f"    {name} = {value}\n" for name, value in integers.items())
    (package / "_machine_c.pxd").write_text(f"{TYPES.read_text('utf-8')}\ncdef enum:\n{constants}", "utf-8")
    return module


def without_imports(source: str, integers: Container[str]) -> str:
    """A source without what it imports from the other ones, of *integers*, and from the future."""
    lines = source.splitlines(keepends=True)
    for node in reversed(ast.parse(source).body):
        if isinstance(node, ast.ImportFrom):
            line = lines[node.lineno - 1]
            if ";" in line or any(alias.asname for alias in node.names):
                raise RuntimeError(f"an import of the twin should stand alone, and rename nothing: {line!r}")
            node.names = [alias for alias in node.names if alias.name not in integers]
            merged = node.module == "__future__" or f"{node.module}.py" in [path.name for path in SOURCES]
            lines[node.lineno - 1 : node.end_lineno] = [] if merged or not node.names else [ast.unparse(node) + "\n"]
    return "".join(lines)


class BuildTwin(build_ext):
    """``build_ext`` that cythonizes a staged copy of the machine, as ``STREAMPARSE_BUILD`` wants it."""

    def run(self) -> None:
        try:
            super().run()
        except Exception as error:  # a missing compiler shows itself in many classes of error, by platform and version
            self.fall_back(error)

    def build_extension(self, ext: Extension) -> None:
        Path(self.get_ext_fullpath(ext.name)).unlink(missing_ok=True)  # of an earlier build: it must not stay
        try:
            from Cython.Build import cythonize

            folder = Path(self.build_temp) / "twin"
            staged = Extension(ext.name, [str(stage(folder))])
            # force: Cython compares file times, and these files are written anew each time
            (compiled,) = cythonize([staged], compiler_directives=DIRECTIVES, include_path=[str(folder)], force=True)
            ext.sources = compiled.sources
            super().build_extension(ext)
        except Exception as error:
            self.fall_back(error)

    def fall_back(self, error: Exception) -> None:
        """Warn that the package goes without its compiled twin, or raise *error* where the twin was required."""
        if MODE == "require":
            raise error
        line = "*" * 78
        print(
            f"\n{line}\n"
            "WARNING: streamparse is installed WITHOUT its compiled twin and runs interpreted (same results,\n"
            f"several times slower). The build of {MODULE} failed with\n    {type(error).__name__}: {error}\n"
            f"Install a C compiler and install again; STREAMPARSE_BUILD=require makes this an error.\n{line}\n",
            file=sys.stderr,
        )


# `optional` keeps setuptools from asking for the file of a twin that could not be built.
TWIN = Extension(MODULE, [*map(str, SOURCES)], depends=[str(TYPES), *map(str, INTEGERS)], optional=MODE == "auto")

setup(ext_modules=[] if MODE == "pure" else [TWIN], cmdclass={"build_ext": BuildTwin})
