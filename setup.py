"""Build of the compiled twin ``streamparse._machine_c``.

There is one source: ``streamparse/machine.py``. It is installed as it is, and a copy of it is compiled with Cython
under the name ``_machine_c``, so that both twins can be imported side by side and compared.
``streamparse/machine_c.pxd`` gives the copy its C types. The integers that it imports (the states, the places in a
field) are constants of C in it.

The environment variable ``STREAMPARSE_BUILD`` says what is wanted:

* ``auto`` (default): build the twin; where that fails (no C compiler, say) warn and install without it.
* ``require``: build the twin, and fail where that fails.
* ``pure``: do not build it; the wheel then fits every platform.

Everything else about the distribution is in ``pyproject.toml``.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

MODES = ("auto", "require", "pure")
MODE = os.environ.get("STREAMPARSE_BUILD") or "auto"
if MODE not in MODES:
    sys.exit(f"STREAMPARSE_BUILD={MODE!r} is not known; use one of {', '.join(MODES)}")

SOURCE = Path("streamparse/machine.py")
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
    b"COMPILED: Final = False": b"COMPILED: Final = True",
    b"from __future__ import annotations\n": b"from __future__ import annotations\n\nimport cython\n",
    b"\nclass StreamingData:": (
        b"\n@cython.final\n@cython.freelist(1024)\n@cython.no_gc\n@cython.cclass\nclass StreamingData:"
    ),
    # Every index is checked by the code itself, and a text ends with a zero character.
    b"\n    n = len(text)\n    while pos < n:\n        char = text[pos]\n": (
        b"\n    n = len(text)\n    kind = PyUnicode_KIND(text)\n    data = PyUnicode_DATA(text)\n"
        b"    while pos < n:\n        char = PyUnicode_READ(kind, data, pos)\n"
    ),
    b"\n    def feed(self, text: str)": (
        b"\n    @cython.boundscheck(False)\n    @cython.wraparound(False)\n    def feed(self, text: str)"
    ),
    # An untracked list is still counted and freed as any other.
    b'For the compiled twin: setup.py fills it in."""\n': (
        b'For the compiled twin: setup.py fills it in."""\n    PyObject_GC_UnTrack(field)\n'
    ),
    # The length of what is a `str`, and no subclass, needs no call.
    b"\n        n = len(chunk)\n": b"\n        n = PyUnicode_GET_LENGTH(chunk)\n",
    b"\nclass Machine:": b"\n@cython.final\n@cython.cclass\nclass Machine:",
}


def stage(folder: Path) -> Path:
    """Lay the sources of the twin in *folder* as the package that Cython expects, and return the module to compile.

    The copy ends with the hash of what was read, by which the tests notice a twin that is older than its sources.
    """
    package = folder / "streamparse"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").touch()  # makes the folder a package, so that the pxd is found under its full name
    module = package / "_machine_c.py"
    compiled = SOURCE.read_bytes()
    for old, new in CHANGES.items():
        if compiled.count(old) != 1:
            raise RuntimeError(f"{SOURCE} should hold {old.decode()!r} once")
        compiled = compiled.replace(old, new)
    # The loops look at positions that they have checked; the call that Cython makes for an index checks them again.
    compiled = compiled.replace(b" char = text[pos]\n", b" char = CHAR_AT(text, pos)\n")
    compiled = compiled.replace(b" char = text[stop]\n", b" char = CHAR_AT(text, stop)\n")
    compiled = compiled.replace(b"text.isascii()", b"PyUnicode_IS_ASCII(text)")
    # A call of the class goes through its metaclass.
    compiled = compiled.replace(b"event = StreamingData()\n", b"event = StreamingData.__new__(StreamingData)\n")
    compiled = compiled.replace(b" COMPILED", b" True")  # known to the compiler, who drops the other branch
    constants = b"\ncdef enum:\n"
    for path in INTEGERS:
        before = constants
        for name, value in re.findall(rb"^([A-Z_]+): Final = ([0-9]+)$", path.read_bytes(), re.MULTILINE):
            compiled, imported = re.subn(rb"^    %s,\n" % name, b"", compiled, flags=re.MULTILINE)
            if imported:
                constants += b"    %s = %s\n" % (name, value)
        if constants == before:
            raise RuntimeError(f"{SOURCE} should import the integers of {path}, a line each")
    sources = b"".join(path.read_bytes() for path in (SOURCE, TYPES, *INTEGERS))
    module.write_bytes(compiled + b'\nSOURCE_SHA256 = "%s"\n' % hashlib.sha256(sources).hexdigest().encode())
    (package / "_machine_c.pxd").write_bytes(TYPES.read_bytes() + constants)
    return module


class BuildTwin(build_ext):
    """``build_ext`` that cythonizes a staged copy of the machine, as ``STREAMPARSE_BUILD`` wants it."""

    def run(self) -> None:
        try:
            super().run()
        except Exception as error:  # a missing compiler shows itself in many classes of error, by platform and version
            self.fall_back(error)

    def build_extension(self, ext: Extension) -> None:
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
TWIN = Extension(MODULE, [str(SOURCE)], depends=[str(TYPES), *map(str, INTEGERS)], optional=MODE == "auto")

setup(ext_modules=[] if MODE == "pure" else [TWIN], cmdclass={"build_ext": BuildTwin})
