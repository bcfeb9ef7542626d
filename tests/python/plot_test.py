"""Pictures: SVG that is well-formed, figures of matplotlib, both themes."""
import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml
from unittest import mock

import matplotlib.figure

import tidegauge
from package import EXAMPLES, OOM
from tidegauge.chart import THEMES, tick_of, ticks_to

SVG = "{http://www.w3.org/2000/svg}"


class Pictures(unittest.TestCase):
    def drawn(self, trace, device):
        for theme in THEMES:
            for draw in (trace.plot.timeline, trace.plot.fragmentation):
                yield theme, draw(device=device, theme=theme, backend="svg")

    def test_svg_of_every_device(self):
        for path in EXAMPLES:
            trace = tidegauge.open(path)
            for device in trace.device_ordinals:
                for theme, svg in self.drawn(trace, device):
                    with self.subTest(path=path, device=device, theme=theme):
                        tree = xml.fromstring(svg)
                        self.assertEqual(tree.tag, SVG + "svg")
                        self.assertEqual(tree.find(SVG + "rect").get("fill"), THEMES[theme]["surface"])
                        texts = [one.text for one in tree.iter(SVG + "text")]
                        self.assertIn("step", texts)
                        for path_of in tree.iter(SVG + "path"):
                            self.assertNotIn("nan", path_of.get("d"))

    def test_names_cannot_break_out(self):
        import package
        trace = tidegauge.open(package.objects(OOM), name='</svg><script>"&')
        svg = trace.plot.timeline(backend="svg")
        self.assertNotIn("<script", svg)
        xml.fromstring(svg)
        self.assertNotIn("<script", trace._repr_html_())

    def test_matplotlib(self):
        trace = tidegauge.open(OOM)
        for theme in THEMES:
            for draw in (trace.plot.timeline, trace.plot.fragmentation, trace.plot.whatif):
                figure = draw(theme=theme)
                self.assertIsInstance(figure, matplotlib.figure.Figure)
                with tempfile.TemporaryDirectory() as folder:
                    figure.savefig(pathlib.Path(folder, "x.png"))
        axes = matplotlib.figure.Figure().subplots()
        self.assertIs(trace.plot.timeline(axes=axes), axes.figure)
        self.assertEqual([line.get_label() for line in axes.lines][:3], ["reserved", "active", "capacity"])
        self.assertEqual(len(axes.lines[-1].get_xdata()), 3)  # a cross for each failed request

    def test_without_matplotlib_there_is_svg(self):
        trace = tidegauge.open(OOM)
        with mock.patch.dict(sys.modules, {"matplotlib.figure": None}):
            svg = trace.plot.whatif()
            self.assertTrue(svg.startswith("<svg"))
            self.assertEqual(svg._repr_svg_(), svg)
            with self.assertRaisesRegex(tidegauge.MissingFeatureError, r"pip install 'tidegauge\[plot\]'"):
                trace.plot.timeline(backend="matplotlib")
        with tempfile.TemporaryDirectory() as folder:
            svg.save(pathlib.Path(folder, "x.svg"))
            self.assertEqual(pathlib.Path(folder, "x.svg").read_text(encoding="utf-8"), svg)

    def test_the_map_is_the_commands(self):
        import package
        with tempfile.TemporaryDirectory() as folder:
            package.said("frag", OOM, "--plot", f"{folder}/x.svg")
            self.assertEqual(tidegauge.open(OOM).plot.fragmentation_map(), pathlib.Path(folder, "x.svg").read_text(encoding="utf-8"))

    def test_a_dark_map(self):
        plot = tidegauge.open(OOM).plot
        light, dark = plot.fragmentation_map(theme="light"), plot.fragmentation_map(theme="dark")
        self.assertEqual(light, plot.fragmentation_map())
        self.assertIn(f'<path fill="{THEMES["dark"]["surface"]}"', dark)
        self.assertNotIn(f'fill="{THEMES["light"]["ink"]}"', dark)
        self.assertEqual(xml.fromstring(light).find(SVG + "title").text, xml.fromstring(dark).find(SVG + "title").text)
        with self.assertRaisesRegex(tidegauge.UsageError, "no theme 'sepia'"):
            plot.fragmentation_map(theme="sepia")

    def test_svg_is_named_alone(self):
        svg = tidegauge.open(OOM).plot.timeline(backend="svg")
        self.assertRegex(str(svg), r"^<tidegauge SVG, [\d,]+ characters>$")
        self.assertEqual((f"{svg}", repr(svg)), (str(svg), str(svg)))
        self.assertTrue(svg.text.startswith("<svg"))
        self.assertIs(type(svg.text), str)
        self.assertEqual(svg._repr_svg_(), svg.text)

    def test_svg_into_another_file(self):
        svg = tidegauge.open(OOM).plot.timeline(backend="svg")
        with tempfile.TemporaryDirectory() as folder:
            for name in ("x.png", "x", "svg"):
                with self.assertRaisesRegex(tidegauge.UsageError, "does not end in .svg.*matplotlib.*tidegauge frag --plot"):
                    svg.save(f"{folder}/{name}")
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])
            with self.assertRaisesRegex(tidegauge.UnwritableError, f"the folder {folder}/none is missing. Make it") as caught:
                svg.save(f"{folder}/none/x.svg")
            self.assertIsInstance(caught.exception, FileNotFoundError)
            pathlib.Path(folder, "a.svg").mkdir()
            with self.assertRaisesRegex(tidegauge.UnwritableError, "Is a directory") as caught:
                svg.save(f"{folder}/a.svg")
            self.assertIsInstance(caught.exception, OSError)
        with self.assertRaisesRegex(tidegauge.UsageError, "path is 5"):
            svg.save(5)

    def test_axes(self):
        plot = tidegauge.open(OOM).plot
        axes = matplotlib.figure.Figure().subplots()
        for draw in (plot.timeline, plot.fragmentation, plot.whatif):
            with self.assertRaisesRegex(tidegauge.UsageError, "does not draw into them"):
                draw(backend="svg", axes=axes)
            for bad in (5, matplotlib.figure.Figure()):
                with self.assertRaisesRegex(tidegauge.UsageError, "axes is .*plt.gca"):
                    draw(axes=bad)

    def test_numbers_of_parts(self):
        plot = tidegauge.open(OOM).plot
        for bad in (0, 10**9, 1.5, "x"):
            with self.assertRaisesRegex(tidegauge.UsageError, "columns is"):
                plot.timeline(columns=bad)
        with self.assertRaisesRegex(tidegauge.UsageError, "samples is 1.5"):
            plot.fragmentation(samples=1.5)

    def test_wrong_names(self):
        plot = tidegauge.open(OOM).plot
        for bad in ({"theme": "sepia"}, {"backend": "ascii"}):
            with self.assertRaises(tidegauge.UsageError):
                plot.timeline(**bad)

    def test_ticks(self):
        for top, is_bytes, tick in ((6 << 30, True, 1 << 30), (100, True, 32), (0, True, 1), (37378, False, 10000), (6, False, 1), (0.3, False, 0.05)):
            self.assertAlmostEqual(tick_of(top, is_bytes), tick)
            self.assertLessEqual(len(ticks_to(top, tick_of(top, is_bytes))), 7)

    def test_the_repr_is_small(self):
        html = tidegauge.open(OOM)._repr_html_()
        self.assertIn("576 MiB", html)
        self.assertIn("<svg", html)
        self.assertLess(len(html), 60_000)


if __name__ == "__main__":
    unittest.main()
