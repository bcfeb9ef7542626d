#!/usr/bin/env python3
"""The files of deploy/: promtool takes the rules and what they must say, systemd takes the unit, and
every metric in them is one of tidegauge's. Skips what is not installed."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"


def known_metrics():
    source = (ROOT / "src/watch/metrics.cpp").read_text()
    calls = re.findall(r'\b(gauge|counter)\(\s*"([a-z_]+)"', source)
    known = {"tidegauge_" + name + ("_total" if kind == "counter" else "") for kind, name in calls}
    working_sets = (ROOT / "src/watch/working_set_metrics.cpp").read_text()
    return known | set(re.findall(r'"(tidegauge_wss_[a-z_]+)"', working_sets))


def check_names():
    known = known_metrics()
    assert len(known) > 15, known
    documented = (ROOT / "docs/record/monitoring.md").read_text()
    missing = sorted(name for name in known if f"`{name}`" not in documented)
    assert not missing, f"not in docs/record/monitoring.md: {missing}"
    for path in (DEPLOY / "grafana/tidegauge.json", DEPLOY / "prometheus/tidegauge-alerts.yml",
                 ROOT / "docs/record/monitoring.md"):
        used = set(re.findall(r"tidegauge_[a-z_]+", path.read_text()))
        unknown = sorted(used - known)
        assert not unknown, f"{path.name} names {unknown}"


def check_dashboard():
    board = json.loads((DEPLOY / "grafana/tidegauge.json").read_text())
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids)) >= 10
    taken = set()
    for panel in board["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                 for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken and at["x"] + at["w"] <= 24, panel["title"]
        taken |= cells


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, cwd=DEPLOY / "prometheus")
    assert done.returncode == 0, done.stdout + done.stderr


def check_promtool():
    run("promtool", "check", "config", "prometheus.yml")
    run("promtool", "check", "rules", "tidegauge-alerts.yml")
    run("promtool", "test", "rules", "tidegauge-alerts.test.yml")
    board = json.loads((DEPLOY / "grafana/tidegauge.json").read_text())
    rules = {"groups": [{"name": "board", "rules": []}]}
    for panel in board["panels"]:
        for target in panel["targets"]:
            query = target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*")
            rules["groups"][0]["rules"].append(
                {"record": f"board_{len(rules['groups'][0]['rules'])}:x",
                 "expr": query.replace("$comm", ".*")})
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        json.dump(rules, file)
        file.flush()
        run("promtool", "check", "rules", file.name)


def check_unit():
    done = subprocess.run(["systemd-analyze", "verify", DEPLOY / "systemd/tidegauge-monitor.service"],
                          capture_output=True, text=True)
    said = [line for line in done.stderr.splitlines()
            if "tidegauge-monitor" in line and "is not executable" not in line]
    assert not said, said


def main():
    check_names()
    check_dashboard()
    skipped = []
    for program, check in (("promtool", check_promtool), ("systemd-analyze", check_unit)):
        if shutil.which(program):
            check()
            print(f"{program}: as expected")
        else:
            skipped.append(program)
    if skipped:
        print(f"skipped: no {' and no '.join(skipped)}")
        sys.exit(77)


if __name__ == "__main__":
    main()
