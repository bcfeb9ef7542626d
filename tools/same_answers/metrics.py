"""Metrics of a replayed recording: what two builds of tests/monitor/make_metrics print.

    make_metrics prometheus|otlp [RECORDING]

Without RECORDING it is a made-up session. Old names of metrics and labels are translated.
"""

import subprocess

import judge
import tree

FORMS = ("prometheus", "otlp")


def compare(programs, recordings, renames, words, tally, limit_s):
    # Names and help stand in OTLP's bytes: comparable only while none of them has changed.
    changed = words or any(row.kind in ("metric", "label") for row in renames.rows)
    for recording in [None, *recordings]:
        for form in FORMS[:1] if changed else FORMS:
            arguments = [form, *([str(recording)] if recording else [])]
            answers = [_run([program, *arguments], limit_s) for program in programs]
            name = recording.name if recording else "made-up session"
            places = _places(form, *answers, renames, words)
            if places:
                tally.different("metrics", name, f"make_metrics {' '.join(arguments)}", places)
            else:
                tally.equal("metrics")


def _run(words, limit_s):
    try:
        done = subprocess.run(words, capture_output=True, timeout=limit_s, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{error}"
    return done.stdout if done.returncode == 0 else f"exit code {done.returncode}: {done.stderr!r:.200}"


def _places(form, old, new, renames, words):
    if isinstance(old, str) or isinstance(new, str):
        return [("(all)", *(said if isinstance(said, str) else "metrics" for said in (old, new)))]
    if form == "otlp":
        return judge.byte_places(tree.Rules("metrics"), old, new)
    texts = [renames.in_metrics(old.decode()), new.decode()]
    if words:  # the help of a metric is prose
        texts = ["\n".join(line for line in text.splitlines() if not line.startswith("# HELP"))
                 for text in texts]
    return judge.text_places(tree.Rules("metrics"), *(text.encode() for text in texts))
