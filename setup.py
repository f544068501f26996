"""Builds the C of the rule beside its source; where that fails the package is installed without it.

A library is no module of Python, so one serves every Python of a platform: the wheel is py3-none-<platform>.
"""

import importlib.util
import warnings
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

_PATH = "src/limen/mixers/recurrence/build.py"
_spec = importlib.util.spec_from_file_location("build_rule", Path(__file__).parent / _PATH)
assert _spec is not None and _spec.loader is not None
recipe = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(recipe)

# The name of each library as that of a module, and what it is built for.
LIBRARIES = {
    f"limen.mixers.recurrence.{recipe.shipped(real, kind).stem}": (real, flags)
    for kind, flags in recipe.shipped_kinds().items()
    for real in recipe.REALS
}


class BuildRule(build_ext):
    """Builds libraries by the recipe that also builds them on demand."""

    def get_ext_filename(self, name: str) -> str:
        return f"{name.replace('.', '/')}.so"

    def build_extension(self, library: Extension) -> None:
        path = Path(self.get_ext_fullpath(library.name))
        path.parent.mkdir(parents=True, exist_ok=True)
        real, flags = LIBRARIES[library.name]
        try:
            recipe.build(recipe.compiler(), real, flags, path)
        except recipe.NotBuilt as error:
            raise CompileError(str(error)) from error


class Wheel(bdist_wheel):
    """Of one platform and any Python."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


def possible() -> bool:
    """Whether there is a compiler; without one the wheel is for every platform."""
    try:
        return bool(recipe.compiler())
    except recipe.NotBuilt as error:
        warnings.warn(f"limen is installed without the rule in C: {error}", stacklevel=1)
        return False


extensions = [Extension(name, [f"{_PATH.rpartition('/')[0]}/rule.c"], optional=True) for name in LIBRARIES]
setup(
    ext_modules=extensions if possible() else [],
    cmdclass={"build_ext": BuildRule, "bdist_wheel": Wheel},
)
