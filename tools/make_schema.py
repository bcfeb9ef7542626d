#!/usr/bin/env python3
"""Rewrites docs/schema/report.schema.json: keys and words from docs/formats/json.md and
docs/formats/json-recording.md, types from what the
program prints for many files. Review the diff, as of a golden file.

    python3 tools/make_schema.py --binary build/dev/tidegauge FILE… --with SNAPSHOT RECORDING

A key that no file shows is an error: give one that does.
"""
import argparse
import copy
import json
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "schema" / "report.schema.json"
SIGNED = re.compile(r"(^|\.)device$|tensors\.step$|peak\.(\w+\.)?step$|peak_step$|grew_bytes|time_us|per_event_bytes|per_step_bytes|\.p$|rises|share"
                    r"|turnover|seconds|score|skill|slope|difference_(bytes|ns)")
WORDS = {  # closed lists
    "holders_at_peak.at": ["peak", "oom", "end"], "holders_at_oom.at": ["peak", "oom"],
    "ooms[].verdict.rows[].verdict": ["fragmentation", "other_pool", "capacity", "internal_waste",
                                      "others", "cap", "flaw", "held_in_pool", "no_flush",
                                      "never_fits"],
    "devices[].tensors.at": ["oom", "peak", "end"],
    "devices[].tensors.rows[].kind": ["parameter", "buffer", "gradient", "optimizer_state",
                                      "activation", "other"],
    "ooms[].verdict.from.size_class": ["small", "large"],
    "ooms[].verdict.servable[].size_class": ["small", "large"],
    "advice[].evidence[].unit": ["bytes", "count", "percent"],
    "story.findings[].kind": ["incomplete", "out_of_memory", "given_back", "pinned_at_end",
                              "before_recording", "lost", "uncertain_peak", "contradiction",
                              "only_state", "ring_overflow", "silent_refusals"],
    "story.findings[].severity": ["high", "medium", "low"],
    "story.findings[].figures[].unit": ["bytes", "count"],
    "growth.basis": ["steps", "events"],
    "growth.verdict": ["told", "too_few_points", "too_little_turnover"],
    "growth.rows[].kind": ["accumulates", "replaced"],
    "wall.rows[].what": ["active", "reserved"],
    "outside.devices[].moments[].at": ["peak", "oom", "end"],
    "outside.devices[].rows[].moments[].at": ["peak", "oom", "end"],
    "outside.devices[].rows[].kind": ["device", "managed", "pool", "physical", "array"],
    "lacks.peak_active_bound": ["exact", "at_least", "at_most"],
    "lacks.peak_allocated_bound": ["exact", "at_least", "at_most"],
    "lacks.peak_reserved_bound": ["exact", "at_least", "at_most"],
    "identities[].name": ["drawn", "live", "reserved", "segments", "checksums"],
}
OPTIONAL = ("devices[].range", "outside")  # with --from or --to; with --with
RANGE_KEYS = ("device", "label", "at_least", "range", "initial", "final", "peak", "holders_at_peak", "ooms")


def documented():
    rows = {}
    for page in ("json.md", "json-recording.md"):
        for line in (ROOT / "docs" / "formats" / page).read_text(encoding="utf-8").splitlines():
            row = re.fullmatch(r"\| `([^`]+)` \| (.*) \|", line)
            if row:
                rows[row[1]] = row[2]
    return rows


def kind(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return {int: "integer", float: "number", str: "string", list: "array", dict: "object"}[type(value)]


def collect(value, path, types):
    types.setdefault(path, set()).add(kind(value))
    if isinstance(value, list):
        for item in value:
            collect(item, path + "[]", types)
    elif isinstance(value, dict) and path != "settings":
        for key, item in value.items():
            collect(item, f"{path}.{key}" if path else key, types)


def schema_of(path, types, words, root=False):
    kinds = types.get(path, set())
    if "integer" in kinds and "number" in kinds:
        kinds = kinds - {"integer"}
    if "null" in words.get(path, ""):  # no file at hand may lack it
        kinds = kinds | {"null"}
    if kinds == {"null"} and path.endswith("_bytes"):  # … or have it
        kinds = kinds | {"integer"}
    names = sorted(kinds)
    schema = {"type": names[0] if len(names) == 1 else names}
    if path in words:
        schema["description"] = words[path]
    if "object" in kinds and path != "settings":
        keys = [key for key in words if key.rpartition(".")[0] == path and "[]" not in key[len(path) + 1:]]
        keys = [key for key in keys if "." not in key[len(path) + (1 if path else 0):]]
        schema["properties"] = {key.rpartition(".")[2]: schema_of(key, types, words) for key in keys}
        schema["required"] = [key.rpartition(".")[2] for key in keys if key not in OPTIONAL]
        schema["additionalProperties"] = False
    elif path == "settings":
        schema["additionalProperties"] = {"type": "string"}
    if "array" in kinds:
        item = path + "[]"
        schema["items"] = schema_of(item, types, words) if item in types else {}
    if names[0] in ("integer",) or "integer" in kinds or "number" in kinds:
        if not SIGNED.search(path):
            schema["minimum"] = 0
    for ending, allowed in WORDS.items():
        if path.endswith(ending):
            schema["enum"] = allowed
            del schema["type"]
    return schema


FIGURES = ["memory", "blocks", "launches", "copies", "call sites", "kernel names", "launch events",
           "device times"]
ROW = {"type": "object",
       "properties": {"figures": {"type": "array", "description": "figures that it affects",
                                  "items": {"enum": FIGURES}},
                      "reason": {"type": "string",
                                 "description": "for example `lost: 3 × memory ring full`"}},
       "required": ["figures", "reason"], "additionalProperties": False}
WHY = {"type": "array", "items": {"type": "string"},
       "description": "why the figures of this object are incomplete; absent: they are complete"}


def may_be_incomplete(device):
    """No snapshot at hand shows it: every object of figures may have the list `incomplete`."""
    def mark(schema):
        if schema and "properties" in schema:
            schema["properties"] = {"incomplete": {"$ref": "#/$defs/incomplete"}, **schema["properties"]}
    for key, schema in device["properties"].items():
        if key == "range":
            continue
        mark(schema)
        if key == "peak":
            for part in schema["properties"].values():
                mark(part)
        if key == "ooms":
            mark(schema["items"])
    mark(device)


def compact(value, indent=0):
    """JSON with what fits on one line of 100 columns on one."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + indent <= 99 or not isinstance(value, (dict, list)) or not value:
        return line
    pad = " " * (indent + 1)
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {compact(item, indent + 1)}" for key, item in value.items()]
    else:
        parts = [compact(item, indent + 1) for item in value]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return f"{begin}\n{pad}" + f",\n{pad}".join(parts) + f"\n{' ' * indent}{end}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--with", nargs=2, action="append", default=[], dest="pairs",
                        metavar=("SNAPSHOT", "RECORDING"), help="a pair as of tests/support/joined_pair.py")
    options = parser.parse_args()
    words, types = documented(), {}
    asked = [[file, *more] for file in options.files for more in ([], ["--from", "1", "--to", "5"])]
    asked += [[snapshot, "--with", recording] for snapshot, recording in options.pairs]
    for words_of in asked:
        done = subprocess.run([options.binary, "report", "--json", *words_of],
                              capture_output=True, text=True, check=False)
        if done.returncode == 0:
            collect(json.loads(done.stdout), "", types)
    missing = sorted(key for key in words if key not in types)
    if missing:
        raise SystemExit("no file shows: " + ", ".join(missing))
    report = schema_of("", types, words)
    device = report["properties"]["devices"]["items"]
    properties = device["properties"]
    whole = dict(device, properties={k: v for k, v in properties.items() if k != "range"})
    part = dict(device, properties={k: properties[k] for k in RANGE_KEYS}, required=list(RANGE_KEYS))
    part["properties"] = dict(part["properties"])
    peak = part["properties"]["peak"] = dict(properties["peak"])
    peak["required"] = [key for key in peak["required"] if key != "sql"]
    whole, part = copy.deepcopy(whole), copy.deepcopy(part)
    for each in (whole, part):
        may_be_incomplete(each)
    report["properties"]["incomplete"]["items"] = ROW
    report["properties"]["devices"]["items"] = {
        "if": {"required": ["range"]}, "then": {"$ref": "#/$defs/range"}, "else": {"$ref": "#/$defs/device"}}
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "tidegauge report --json",
        "description": "One report, or a list of them for several files. See docs/formats/json.md.",
        "oneOf": [{"$ref": "#/$defs/report"}, {"type": "array", "items": {"$ref": "#/$defs/report"}}],
        "$defs": {"incomplete": WHY, "report": report, "device": whole, "range": part},
    }
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(compact(schema) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
