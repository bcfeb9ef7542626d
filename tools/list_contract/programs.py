"""Asks programs; Missing says why a section cannot be made here."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Missing(Exception):
    """Why a section cannot be made here."""


def run(*words, codes=(0,)):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, check=False,
                          env=environment())
    if done.returncode not in codes:
        raise Missing(f"{' '.join(map(str, words))}: exit code {done.returncode}: "
                      f"{done.stderr.strip()[:200]}")
    return done.stdout


def environment():
    kept = {key: value for key, value in os.environ.items() if key.endswith("SAN_OPTIONS")}
    return kept | {"PATH": "/usr/bin:/bin", "COLUMNS": "200", "LC_ALL": "C.UTF-8"}


def program(options, name):
    path = pathlib.Path(options.tests or "", name)
    if not options.tests or not path.exists():
        raise Missing(f"it needs the program {name} of the tests (--tests FOLDER)")
    return path
