"""Answers of the engine (JSON) as the dataclasses of results.py."""
from __future__ import annotations

from typing import Any, Callable, Iterator, Mapping, Optional

from .results import (Advice, Diff, Fragmentation, GrowingStack, Growth, Holder, OutOfMemory, Peak, Reason, Replayed,
                      Report, Verification, WhatIf)
from .sizes import human_bytes

Json = Mapping[str, Any]


def _texts(sentences: list[Json]) -> tuple[str, ...]:
    return tuple(one["text"] for one in sentences)


def peak(device: Json) -> Peak:
    of = device["peak"]
    return Peak(device["device"], of["requested"]["bytes"], of["requested"]["step"], of["active"]["bytes"],
                of["active"]["step"], of["reserved"]["bytes"], of["reserved"]["step"],
                of["is_at_least"] or device["only_state"],  # of a final state alone, no earlier one is known
                of["uncertain_bytes"], of)


def holder(row: Json) -> Holder:
    return Holder(row["stack_id"], row["label"], row["caller"], row["bytes"], row["requested_bytes"], row["blocks"],
                  row["share"], row)


def advice(row: Json) -> Advice:
    replayed = row.get("replayed") or {}
    return Advice(row["text"], row.get("copy") or "", bool(replayed.get("helps")), row)


def out_of_memory(device: int, row: Json) -> OutOfMemory:
    verdict = row.get("verdict") or {}
    reasons = tuple(Reason(one["verdict"], one["text"], one["bytes"], one["certain"]) for one in verdict.get("rows", []))
    return OutOfMemory(device, row["step"], row["time_us"], row["requested_bytes"], row["device_free_bytes"],
                       row["active_bytes"], row["reserved_bytes"], row["free_in_segments_bytes"],
                       row["largest_hole_bytes"], row["stack_id"], row["label"], reasons, row)


def report(data: Json, text: Callable[[], str]) -> Report:
    stories = [device["story"] for device in data["devices"] if "story" in device]
    told = sorted((device for device in data["devices"] if (device.get("story") or {}).get("headline")), key=_badness, reverse=True)
    headlines = [device["story"]["headline"]["text"] for device in told]
    advices = tuple(advice(row) for device in data["devices"] for row in device.get("advice", ()))
    findings = tuple(one["text"] for story in stories for one in story["findings"])
    parts = [device for device in data["devices"] if "range" in device]
    if parts:  # a part of a recording has no story
        headlines = [_headline_of_part(device) for device in parts]
        findings = tuple(sentence for device in parts for sentence in _findings_of_part(device))
    return Report(headlines[0] if headlines else "", advices, findings, data, text)


def _badness(device: Json) -> tuple[Any, ...]:
    """The order of the command's report: what lacked most bytes first, then the highest peak."""
    missing = [(row["requested_bytes"] or 0) - (row["device_free_bytes"] or 0) for row in device["ooms"] if row["device_free_bytes"] is not None]
    return bool(device["ooms"]), max([0, *missing]), device["device"] >= 0, device["peak"]["active"]["bytes"]


def _headline_of_part(device: Json) -> str:
    first, last = device["range"]["first_step"], device["range"]["last_step"]
    active, reserved = device["peak"]["active"], device["peak"]["reserved"]
    least = "at least " if device["peak"]["is_at_least"] else ""
    steps = f"step {first:,}" if first == last else f"steps {first:,} to {last:,}"
    return (f"{device['label']}, {steps}: the peak was {least}{human_bytes(active['bytes'])} in use, after step {active['step']:,}, "
            f"and {human_bytes(reserved['bytes'])} reserved.")


def _findings_of_part(device: Json) -> Iterator[str]:
    yield from map(str, device["range"]["notes"])
    for row in device["ooms"]:
        free = row["device_free_bytes"]
        driver = "" if free is None else f"; the driver had {human_bytes(free)} free"
        yield f"Out of memory at step {row['step']:,}: the program requested {human_bytes(row['requested_bytes'])}{driver}."


def fragmentation(device: Json, text: Callable[[], str]) -> Fragmentation:
    now = device["now"]
    score: Optional[float] = (now.get("reserved") or {}).get("score")
    return Fragmentation(device["device"], now["step"], now["reserved_bytes"], now["active_bytes"], now["free_bytes"],
                         now["pinned_bytes"], now["releasable_bytes"], now["stranded_bytes"], now["holes"],
                         now["largest_hole_bytes"], now["waste_bytes"], score, device, text)


def growth(device: Json) -> Growth:
    of = device["growth"]
    stacks = tuple(
        GrowingStack(row["stack_id"], row["label"], row["caller"], row["per_step_bytes"], row["least_per_step_bytes"],
                     row["most_per_step_bytes"], row["grown_bytes"], row["retained_bytes"], row["kind"], row)
        for row in of["rows"])
    return Growth(device["device"], of["verdict"], of["basis"], of["program_steps"] if of["basis"] == "steps" else None, stacks, _texts(of["sentences"]), of)


def verification(device: int, of: Json) -> Verification:
    first = of["first_divergence"]
    return Verification(device, of["events_checked"], of["events_exact"], first["step"] if first else None, of)


def replayed(row: Json) -> Replayed:
    return Replayed(row["settings"], row["peak_reserved_bytes"], row["peak_active_bytes"], row["ooms"], row["retries"],
                    row["driver_allocs"] + row["driver_frees"], row)


def what_if(device: Json) -> WhatIf:
    candidates = tuple(map(replayed, device["candidates"]))
    best = next((one for one in candidates if one.settings == device["best"]), None) if device["best"] else None
    sentences = tuple(one if isinstance(one, str) else one["text"] for one in device["sentences"])
    return WhatIf(device["device"], device["capacity_bytes"], replayed(device["own"]), candidates, best,
                  verification(device["device"], device["verify"]), sentences, device)


def diff(data: Json, text: Callable[[], str]) -> Diff:
    total = data.get("total") or {}
    return Diff(data["verdict"], total.get("change_bytes"), data.get("alike"), data, text)
