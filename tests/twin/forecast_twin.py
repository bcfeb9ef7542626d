#!/usr/bin/env python3
"""The published forecast of the layout score, written from its formulas alone, against Tidegauge.

20 series: the last 50 samples of 15 real snapshots and of 5 generated programs. Every prediction,
the confidence and the slope differ by at most 1e-6; every risk and warning is equal. The same twin
measures what each departure from the published text changes (docs/explain/forecast.md).

    tests/twin/forecast_twin.py --binary build/dev/tidegauge [--write]

Needs NumPy; without it, the test is skipped (exit code 77). Source: the forecast of NeuTracer, quoted beside each formula.
"""
import argparse
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
except ImportError:
    np = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("TIDEGAUGE_SHARED", ROOT.parent / "shared")) / "data"
PAGE = ROOT / "docs" / "explain" / "forecast.md"
BINARY = "build/dev/tidegauge"
FEATURES = ("external", "unusable", "small", "variation", "large_gaps", "utilisation")

# What the text leaves open.
WINDOW, HORIZONS = 5, 3  # W, S
RATE, LONGEST_GRADIENT, ROUNDS, PATIENCE = 0.01, 1.0, 500, 20
HISTORY, LEAST = 50, 10

REAL = (
    *(("snapshots", name) for name in (
        "compile-cached-unused", "fsdp-oom-rank0", "npu-expandable-empty-cache",
        "ten-streams-torch21", "three-gpus-expandable-oom", "training-midrun-torch211")),
    *(("oracle", name) for name in (
        "A_train_fixed__default", "A_train_fixed__expandable", "B_train_varlen__default",
        "B_train_varlen__maxsplit128", "C_llm_serving__default", "D_multistream__default",
        "E_train_ckpt__default", "F_oom_train__default", "H_cudagraph__default")))
GENERATED = (("train", 1, 12000), ("weights", 2, 12000), ("warmup", 3, 12000),
             ("sawtooth", 4, 40000), ("teeth", 5, 12000))


def scaled(column):
    """x' = (x − μ) / σ over the history."""
    if column.max() == column.min():
        return np.zeros_like(column)
    return (column - column.mean()) / column.std()


class Problems:
    """y(t+k) = bias + weights · I(t), I(t) = [X(t−W+1) … X(t), y(t−W+1) … y(t)]: one linear model for
    each moment of a history and each horizon k, all trained at once.

    `without` names departures to undo, see DEPARTURES."""

    def __init__(self, features, scores, without):
        self.without = without
        self.moments = range(WINDOW + HORIZONS, len(scores) + 1)
        self.scales, self.last, rows, targets = [], [], [], []
        for known in self.moments:
            of_rows, of_targets = self.windows(features[:known], scores[:known])
            for k in range(1, HORIZONS + 1):
                rows.append(of_rows[:-k])
                targets.append(of_targets[WINDOW - 1 + k:])
                self.last.append(of_rows[-1])
        self.count = np.array([len(each) for each in rows])
        shape = (len(rows), self.count.max())
        self.rows, self.targets = np.zeros((*shape, 7 * WINDOW + 1)), np.zeros(shape)
        for p, n in enumerate(self.count):  # shorter ones end in zeros, which change no sum
            self.rows[p, :n], self.targets[p, :n] = rows[p], targets[p]

    def windows(self, features, scores):
        """The inputs of each moment, with a 1 for the bias, and the targets."""
        self.scales.append((0.0, 1.0))
        targets = scores
        if "scaled_scores" not in self.without:
            self.scales[-1] = (scores.mean(), scores.std())
            targets = scaled(scores)
        inputs = np.column_stack([scaled(features[:, i]) for i in range(6)])
        rows = [np.concatenate([inputs[t - WINDOW + 1:t + 1].ravel(),
                                targets[t - WINDOW + 1:t + 1], [1.0]])
                for t in range(WINDOW - 1, len(scores))]
        return np.array(rows), targets

    def train(self):
        """Batch gradient descent on L = 1/N Σ (ŷ − y)², β := β − α ∇L."""
        problems = len(self.count)
        beta = np.zeros((problems, 7 * WINDOW + 1))
        best = beta.copy()
        least, before = np.full(problems, np.inf), np.full(problems, np.inf)
        waited = np.zeros(problems, int)
        transposed = self.rows.transpose(0, 2, 1)
        for _ in range(ROUNDS):
            runs = waited < PATIENCE  # "stops after 20 rounds in which the loss does not fall"
            error = (self.rows @ beta[:, :, None])[:, :, 0] - self.targets
            loss = (error ** 2).sum(axis=1) / self.count
            falls = loss < (before if "waits_since_best" in self.without else least)
            waited = np.where(runs, np.where(falls, 0, waited + 1), waited)
            better = runs & (loss < least)
            best[better], least[better], before = beta[better], loss[better], loss
            # ∇β = 1/N Σ (ŷ − y) I
            gradient = (transposed @ error[:, :, None])[:, :, 0] / self.count[:, None]
            norm = np.sqrt((gradient ** 2).sum(axis=1))
            gradient *= np.where(norm > LONGEST_GRADIENT, LONGEST_GRADIENT / np.maximum(norm, 1e-300),
                                 1.0)[:, None]
            moved = beta - RATE * gradient
            bounded = slice(None, -1) if "bounded_bias" in self.without else slice(None)
            moved[:, bounded] = np.clip(moved[:, bounded], -10, 10)
            beta[runs] = moved[runs]
        return beta if "best_weights" in self.without else best

    def predicted(self):
        """(number of samples known, S predictions) of each moment."""
        values = (self.train() * np.array(self.last)).sum(axis=1).reshape(-1, HORIZONS)
        return [(known, [mean + deviation * value for value in ahead])
                for known, (mean, deviation), ahead in zip(self.moments, self.scales, values)]


@functools.cache
def predictions(history, without):
    features, scores = (np.array(column) for column in history)
    return Problems(features, scores, without).predicted()


def forecast(features, scores, without=()):
    """Everything that the text derives from a history, as in `forecast` of frag --json."""
    history = (tuple(map(tuple, features)), tuple(scores))
    at_training = tuple(name for name in without if name in AT_TRAINING)
    errors = []  # "for each t, train on the data before it, and predict t + 1 … t + S"
    for known, values in predictions(history, at_training):
        predicted = values
        if "bounded_predictions" not in without:
            predicted = [min(100.0, max(0.0, value)) for value in values]
        errors += [abs(p - y) for p, y in zip(predicted, scores[known:])]
    mae = sum(errors) / len(errors)
    confidence = max(0.1, 1 - mae / 50)
    y = scores if "recent_slope" in without else scores[-20:]
    x, n = np.arange(len(y)), len(y)
    y = y - y[0]  # equal scores have a slope of exactly 0
    slope = (n * (x @ y) - x.sum() * y.sum()) / (n * (x @ x) - x.sum() ** 2)
    highest = max(predicted)
    risk = ("critical" if highest > 80 else "high" if highest >= 70 else
            "medium" if highest >= 50 else "low" if highest >= 30 else "minimal")
    now = scores[-1]
    warnings = {"worse": bool(any(p - now > 5 for p in predicted) and confidence > 0.6),
                "jump": bool(any(b - a > 10 for a, b in zip(predicted, predicted[1:]))),
                "trend": bool(abs(slope) > 0.3)}
    return {"predicted": predicted, "mean_error": mae, "confidence": confidence, "slope": slope,
            "risk": risk, "warnings": warnings}


# Where the code does something that the text does not say, by the name of a switch of Model.
DEPARTURES = {
    "scaled_scores": "scores are z-scored, too: as inputs and as targets",
    "waits_since_best": "training stops 20 rounds after the lowest loss, not after 20 rounds of "
                        "rising loss",
    "best_weights": "the weights of the round with the lowest loss are used, not the last ones",
    "bounded_predictions": "predictions are limited to 0 … 100",
    "bounded_bias": "the bias, too, is limited to −10 … 10",
    "recent_slope": "the slope is that of the last 20 scores, not of all",
}
AT_TRAINING = ("scaled_scores", "waits_since_best", "best_weights", "bounded_bias")


def series(path):
    """(features, scores, Tidegauge's forecast) of the first device with one, or None."""
    run = subprocess.run([BINARY, "frag", "--json", "--samples", "200", path], capture_output=True,
                         text=True, timeout=600, check=True)
    for device in json.loads(run.stdout)["devices"]:
        if not device["forecast"] or not device["forecast"]["enough"]:
            continue
        samples = [sample["reserved"] for sample in device["samples"]][-HISTORY:]
        features = np.array([[sample[name] for name in FEATURES] for sample in samples], float)
        return features, np.array([sample["score"] for sample in samples], float), device["forecast"]
    return None


def all_series():
    for folder, name in REAL:
        path = SHARED / folder / f"{name}.pickle.zst"
        if path.exists():
            yield name, series(path)
    for workload, seed, events in GENERATED:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "file.pickle")
            subprocess.run([sys.executable, ROOT / "tools" / "make_snapshot", "-o", path, "--workload",
                            workload, "--seed", str(seed), "--events", str(events)], check=True)
            yield f"{workload}, generated", series(path)


def effects(every):
    """The rows of the table in docs/explain/forecast.md."""
    rows = []
    for switch, words in DEPARTURES.items():
        moved = largest = risks = warnings = 0
        for features, scores, as_is in every:
            other = forecast(features, scores, (switch,))
            by = max(abs(a - b) for a, b in zip(other["predicted"], as_is["predicted"]))
            moved += by > 0.05
            largest = max(largest, by)
            risks += other["risk"] != as_is["risk"]
            warnings += other["warnings"] != as_is["warnings"]
        rows.append(f"| {words} | {moved} | {largest:.1f} | {risks} | {warnings} |")
    return rows


class ForecastTwin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.every = dict(all_series())

    def test_tidegauge_equals_the_published_forecast(self):
        for name, (features, scores, ours) in self.every.items():
            with self.subTest(name):
                twin = forecast(features, scores)
                window = next(m for m in ours["models"] if m["model"] == "window")
                for ahead, theirs in zip(window["predicted"], twin["predicted"], strict=True):
                    self.assertAlmostEqual(ahead, theirs, delta=1e-6)
                self.assertAlmostEqual(window["mean_error"], twin["mean_error"], delta=1e-6)
                self.assertAlmostEqual(ours["confidence"], twin["confidence"], delta=1e-6)
                self.assertAlmostEqual(ours["slope"], twin["slope"], delta=1e-6)
                self.assertEqual(ours["risk"], twin["risk"])
                self.assertEqual(ours["warnings"], twin["warnings"])

    def test_there_are_twenty_series_and_they_differ(self):
        if not SHARED.is_dir():
            self.skipTest(f"no real snapshots at {SHARED} (set TIDEGAUGE_SHARED)")
        self.assertEqual(len(self.every), 20)
        self.assertTrue(all(self.every.values()))
        self.assertGreater(len({found[2]["risk"] for found in self.every.values()}), 2)
        moving = [scores for _, scores, _ in self.every.values() if scores.std() > 0.5]
        self.assertGreater(len(moving), 10)

    def test_the_page_states_what_each_departure_changes(self):
        if not SHARED.is_dir():
            self.skipTest(f"no real snapshots at {SHARED} (set TIDEGAUGE_SHARED)")
        every = [(f, s, forecast(f, s)) for f, s, _ in self.every.values()]
        table = "\n".join(effects(every)) + "\n"
        page = PAGE.read_text()
        found = re.search(r"<!-- departures -->\n(?:\|.*\n){2}((?:\|.*\n)*)<!-- end -->", page)
        if WRITE:
            PAGE.write_text(page[:found.start(1)] + table + page[found.end(1):])
        else:
            self.assertEqual(found[1], table)


WRITE = False

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default=os.environ.get("TIDEGAUGE_BINARY", BINARY))
    parser.add_argument("--write", action="store_true", help="rewrite the table of departures")
    options, rest = parser.parse_known_args()
    if np is None:
        print("no NumPy: install python3-numpy, or pip install numpy")
        sys.exit(77)
    BINARY, WRITE = options.binary, options.write
    unittest.main(argv=[sys.argv[0], *rest])
