"""Libraries that are not installed: the error says what to install."""
import unittest

from package import OOM
from process_test import python

# What needs a library, the library, and the advice.
CASES = [
    ("t.events.to_arrow()", "pyarrow", "pyarrow is not installed. Run: pip install 'tidegauge[arrow]'."),
    ("t.events.to_pandas()", "pandas", "pandas is not installed. Run: pip install 'tidegauge[pandas]'."),
    ("t.events.to_pandas()", "pyarrow", "pyarrow is not installed. Run: pip install 'tidegauge[arrow]'."),
    ("t.events.to_polars()", "polars", "polars is not installed. Run: pip install 'tidegauge[polars]'."),
    ("t.plot.timeline(backend='matplotlib')", "matplotlib",
     "matplotlib is not installed. Run: pip install 'tidegauge[plot]', or take backend='svg'."),
    ("tidegauge.notebook.View._ipython_display_(t.view())", "IPython",
     "IPython is not installed. Run: pip install 'tidegauge[notebook]'."),
    ("t.plot.widget()", "anywidget", "anywidget is not installed. Run: pip install 'tidegauge[notebook]'."),
    ("tidegauge.notebook.tidegauge_cell('', '1')", "IPython",
     "IPython is not installed. Run: pip install 'tidegauge[notebook]'."),
    ("import tidegauge.callbacks.hugging_face", "transformers",
     "transformers is not installed. Run: pip install transformers."),
    ("import tidegauge.callbacks.lightning", "pytorch_lightning", "Lightning is not installed. Run: pip install lightning."),
    ("tidegauge.torch.snapshot()", "torch", "PyTorch is not installed. Run: pip install torch."),
    ("tidegauge.torch.record().__enter__()", "torch", "PyTorch is not installed. Run: pip install torch."),
]


class Extras(unittest.TestCase):
    def test_each_says_what_to_install(self):
        for act, library, advice in CASES:
            with self.subTest(act, library=library):
                code, said = python(f"""
                    import sys
                    class Missing:
                        def find_spec(self, name, path=None, target=None):
                            if name == {library!r}:
                                raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
                    sys.meta_path.insert(0, Missing())
                    import tidegauge, tidegauge.notebook, tidegauge.torch
                    t = tidegauge.open({OOM!r})
                    try:
                        {act}
                    except tidegauge.MissingFeatureError as error:
                        print(error)
                """)
                self.assertEqual((code, said), (0, advice + "\n"))

    def test_a_picture_needs_no_matplotlib(self):
        code, said = python(f"""
            import sys
            sys.modules["matplotlib"] = None
            import tidegauge
            print(type(tidegauge.open({OOM!r}).plot.timeline()).__name__)
        """)
        self.assertEqual((code, said), (0, "Svg\n"))

    def test_a_library_that_is_broken_is_not_called_missing(self):
        code, said = python(f"""
            import sys, types
            class Broken:
                def find_spec(self, name, path=None, target=None):
                    if name == "pyarrow":
                        raise ImportError("libarrow.so.2600: cannot open shared object file")
            sys.meta_path.insert(0, Broken())
            import tidegauge
            try:
                tidegauge.open({OOM!r}).events.to_arrow()
            except ImportError as error:
                print(error)
        """)
        self.assertEqual((code, said), (0, "libarrow.so.2600: cannot open shared object file\n"))


if __name__ == "__main__":
    unittest.main()
