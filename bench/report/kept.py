"""What was measured, section by section, so that a run can be resumed and one section can be measured anew.

    DATA/measured/growth.json      {"stamp": "2026-12-01 at commit 1f2e3d4c", "key": …, "tables": ["### Time per …"]}
"""
import json


class Kept:
    def __init__(self, folder, key, stamp):
        """`key`: the program and the options; what was measured with others is not current."""
        self._folder, self._key, self._stamp = folder, key, stamp
        folder.mkdir(parents=True, exist_ok=True)

    def _read(self, name):
        path = self._folder / f"{name}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def has(self, name):
        found = self._read(name)
        return found is not None and found["key"] == self._key

    def put(self, name, tables):
        content = {"stamp": self._stamp, "key": self._key, "tables": [table.markdown() for table in tables]}
        path = self._folder / f"{name}.json"
        part = path.with_suffix(".part")
        part.write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")
        part.rename(path)

    def text(self, name):
        """The section's tables, and when it was measured, if that was not now; None if it never was."""
        found = self._read(name)
        if found is None:
            return None
        parts = list(found["tables"])
        if found["stamp"] != self._stamp and parts:
            heading, rest = parts[0].split("\n", 1)
            parts[0] = f"{heading}\n\nMeasured on {found['stamp']}.\n{rest}"
        return "\n".join(parts)
