"""Keys of JSON answers: from docs/schema; of `wss`, which has no schema, from what it prints."""

import json
import subprocess

from programs import ROOT, run

SCHEMAS = ROOT / "docs" / "schema"


def json_keys(_):
    for path in sorted(SCHEMAS.glob("*.schema.json")):
        command = path.name.split(".")[0]
        schema = json.loads(path.read_text(encoding="utf-8"))
        yield from sorted({f"{command} {line}" for line in schema_lines(schema, schema, "", frozenset())})


def schema_lines(schema, root, path, seen):
    """A line per key: its path, and its words if they are a closed list."""
    if "$ref" in schema:
        name = schema["$ref"]
        if name in seen:
            return
        schema, seen = root["$defs"][name.rsplit("/", 1)[1]], seen | {name}
    if path and not path.endswith("[]"):
        words = [word for word in schema.get("enum", schema.get("items", {}).get("enum", [])) if word]
        yield path + (f"  {' | '.join(map(str, words))}" if words else "")
    for part in ("oneOf", "anyOf", "allOf"):
        for choice in schema.get(part, []):
            yield from schema_lines(choice, root, path, seen)
    for part in ("if", "then", "else"):
        if "$ref" in schema.get(part, {}):
            yield from schema_lines(schema[part], root, path, seen)
    for key, inner in schema.get("properties", {}).items():
        yield from schema_lines(inner, root, f"{path}.{key}" if path else key, seen)
    if isinstance(schema.get("items"), dict):
        # A list of reports has the keys of a report.
        yield from schema_lines(schema["items"], root, path + "[]" if path else "", seen)


def working_set_keys(options):
    """One sleeping process and two of them, measured by the back-end that needs no privilege."""
    keys = set()

    def walk(value, path):
        if isinstance(value, list):
            for item in value:
                walk(item, path + "[]")
        elif isinstance(value, dict):
            for key, item in value.items():
                keys.add(f"{path}.{key}" if path else key)
                if key != "pressure":  # what is in it is the kernel's choice
                    walk(item, f"{path}.{key}" if path else key)

    sleepers = [subprocess.Popen(["sleep", "600"]) for _ in range(2)]
    pids = [process.pid for process in sleepers]
    try:
        for words in (["--by", "vma", pids[0]], pids):
            walk(json.loads(run(options.binary, "wss", "--json", "--backend", "smaps", *words, 0.01)), "")
    finally:
        for process in sleepers:
            process.kill()
            process.wait()
    for key in sorted(keys):
        yield f"wss {key}"
