#!/usr/bin/env python3
"""The metrics of a made-up session, judged by other programs: promtool for Prometheus' text, protoc
for the OTLP body. Skips what is not installed.

    tests/monitor/metrics_test.py --make build/dev/tests/make_metrics
"""

import argparse
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def made(make, what):
    return subprocess.run([make, what], check=True, capture_output=True).stdout


def check_prometheus(make):
    text = made(make, "prometheus")
    run = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True)
    assert run.returncode == 0, (run.stdout + run.stderr).decode()
    assert not run.stdout + run.stderr, (run.stdout + run.stderr).decode()
    assert rb'comm="py \"thon\"\\"' in text, text


def check_otlp(make):
    body = made(make, "otlp")
    run = subprocess.run(["protoc", f"--proto_path={HERE}", "--decode",
                          "subset.ExportMetricsServiceRequest", "metrics.proto"],
                         input=body, capture_output=True)
    assert run.returncode == 0, run.stderr.decode()
    text = run.stdout.decode()
    # A field that the schema does not have is printed as a number.
    unknown = [line for line in text.splitlines() if line.strip()[:1].isdigit()]
    assert not unknown, unknown
    for part in ('name: "tidegauge_device_memory_bytes"', 'unit: "By"', "as_int: 2097152",
                 "as_double: 41.5", "aggregation_temporality: CUMULATIVE", "is_monotonic: true",
                 "start_time_unix_nano: 5", 'string_value: "a-host"',
                 'string_value: "void f<int, 3>(float*)"'):
        assert part in text, f"no {part} in\n{text}"
    counters = text.count("is_monotonic: true")
    assert counters == made(make, "prometheus").count(b" counter\n"), counters


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--make", required=True)
    make = parser.parse_args().make
    skipped = []
    for program, check in (("promtool", check_prometheus), ("protoc", check_otlp)):
        if shutil.which(program):
            check(make)
            print(f"{program}: as expected")
        else:
            skipped.append(program)
    if skipped:
        print(f"skipped: no {' and no '.join(skipped)} "
              "(apt-get install prometheus protobuf-compiler)")
        sys.exit(77)


if __name__ == "__main__":
    main()
