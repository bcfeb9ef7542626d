"""Libraries that only some users have: each is imported where it is needed, and its absence is an error with advice.

    library("pyarrow", "tidegauge[arrow]").table(rows)
"""
from __future__ import annotations

import importlib
from typing import Any, Optional

from .errors import MissingFeatureError


def library(name: str, package: str, *, called: Optional[str] = None, otherwise: str = "") -> Any:
    """Imports a module.

    Args:
        name: As in Python, e.g. "matplotlib.figure".
        package: What to install, e.g. "tidegauge[plot]".
        called: The library's name for people; None: as in Python.
        otherwise: What to do instead of installing it.

    Raises:
        MissingFeatureError: It is not installed.
        ImportError: It is installed, and something else is missing or broken.
    """
    top = name.partition(".")[0]
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name == "torch" != top:  # training libraries come without it
            raise MissingFeatureError("PyTorch is not installed", advice="Run: pip install torch") from None
        if not f"{name}.".startswith(f"{error.name}."):  # neither the module nor a package that it is in
            raise
        quoted = f"'{package}'" if "[" in package else package
        advice = f"Run: pip install {quoted}" + (f", or {otherwise}" if otherwise else "")
        raise MissingFeatureError(f"{called or top} is not installed", advice=advice) from None
