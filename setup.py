"""Find the packages: ``api`` is ``drasat``, every other top-level folder with an ``__init__.py`` a subpackage of it.

Folders of ``peers`` with Go programs are packages of data.
"""

from setuptools import find_namespace_packages, find_packages, setup

_OUTSIDE = ("api", "tests", "benchmarks", "notebooks", "examples", "docs", "build", "dist")

folders = find_packages(exclude=[pattern for name in _OUTSIDE for pattern in (name, f"{name}.*")])
public = find_packages("api")
programs = [f"peers.{name}" for name in find_namespace_packages("peers", exclude=["__pycache__"])]
setup(
    packages=["drasat", *(f"drasat.{name}" for name in dict.fromkeys((*public, *folders, *programs)))],
    package_dir={"drasat": "api", **{f"drasat.{name}": name for name in folders if "." not in name}},
)
