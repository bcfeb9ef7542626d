"""The examples of docs/python.md run as written, from the project's folder."""
import doctest
import os
import unittest

from package import ROOT


def load_tests(loader, tests, pattern):
    before = os.getcwd()
    flags = doctest.NORMALIZE_WHITESPACE
    tests.addTest(doctest.DocFileSuite(str(ROOT / "docs/python.md"), module_relative=False, optionflags=flags, encoding="utf-8",
                                       setUp=lambda _: os.chdir(ROOT), tearDown=lambda _: os.chdir(before)))
    return tests


if __name__ == "__main__":
    unittest.main()
