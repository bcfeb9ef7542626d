"""Answers about a trace, with units in the names. Each keeps what the command line prints as JSON:

    trace.peak()                  Peak(device=0, active_bytes=5527536128, active_step=32431, …)
    trace.peak().to_dict()        the same figures with all that is known beside them

Texts come from the same sentences as the command line's and the page's.
"""
from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping, Optional

from .sizes import human_bytes


class Later:
    """A text that is made when it is asked for. Pickled, it is the text."""

    def __init__(self, make: Callable[[], str]) -> None:
        self._make = make

    def __call__(self) -> str:
        return self._make()

    def __reduce__(self) -> Any:
        return _Said, (self(),)


class _Said:
    """A text that was made."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __call__(self) -> str:
        return self._text


class _Answer:
    """Something with the JSON that it was made of."""

    _data: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """All figures, as `--json` of the command line has them (docs/formats/json.md)."""
        return dict(self._data)


class _Told(_Answer):
    """An answer in words: a notebook shows them instead of the fields."""

    def _repr_html_(self) -> str:
        return f"<pre style=\"white-space: pre-wrap\">{html.escape(str(self))}</pre>"


def _kept() -> Any:
    return field(repr=False, compare=False, default_factory=dict)


@dataclass(frozen=True)
class Peak(_Answer):
    """The most memory that was in use, each kind at its own step.

    Attributes:
        requested_bytes: Asked for by the program.
        active_bytes: In blocks that are in use.
        reserved_bytes: Held by the allocator, in segments.
        is_at_least: True if the recording shows only a part: the figures are lower bounds.
        uncertain_bytes: How much less active_bytes may have been.
    """

    device: int
    requested_bytes: int
    requested_step: int
    active_bytes: int
    active_step: int
    reserved_bytes: int
    reserved_step: int
    is_at_least: bool
    uncertain_bytes: int
    _data: Mapping[str, Any] = _kept()


@dataclass(frozen=True)
class Holder(_Answer):
    """A call stack and the live memory that it allocated.

    Attributes:
        stack_id: Row of the table `stacks`; None: no stack was recorded.
        label: The line of the user's code, e.g. "model.py:340 forward".
        caller: What distinguishes it from other stacks of that line, or "".
        bytes: Of its live blocks.
        requested_bytes: What the program asked for; None: unknown (pinned host memory).
        share: Of all live bytes, 0 … 1.
    """

    stack_id: Optional[int]
    label: str
    caller: str
    bytes: int
    requested_bytes: Optional[int]
    blocks: int
    share: float
    _data: Mapping[str, Any] = _kept()


@dataclass(frozen=True)
class Advice(_Answer):
    """Something that helps, and what a replay of the recording with it showed.

    Attributes:
        text: The advice.
        copy: What to set or call, ready to copy, or "".
        is_proven: A replay showed that it helps.
    """

    text: str
    copy: str
    is_proven: bool
    _data: Mapping[str, Any] = _kept()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Reason:
    """Why a request failed: a part of the bytes that were missing.

    Attributes:
        kind: fragmentation, outside, held_in_pools, …
        bytes: How much memory the reason explains.
        is_certain: False if the recording leaves it open.
    """

    kind: str
    text: str
    bytes: int
    is_certain: bool


@dataclass(frozen=True)
class OutOfMemory(_Answer):
    """A request that failed.

    Attributes:
        step: Of the event, within the device.
        requested_bytes: What was asked for, rounded by the allocator.
        device_free_bytes: What the driver had free; None: not recorded.
        free_in_segments_bytes: Free inside segments, of which largest_hole_bytes in one piece.
        label: The line of the user's code.
        reasons: Most important first; empty beyond the 100 worst events.
    """

    device: int
    step: int
    time_us: Optional[int]
    requested_bytes: int
    device_free_bytes: Optional[int]
    active_bytes: int
    reserved_bytes: int
    free_in_segments_bytes: int
    largest_hole_bytes: int
    stack_id: Optional[int]
    label: str
    reasons: tuple[Reason, ...]
    _data: Mapping[str, Any] = _kept()

    def __str__(self) -> str:
        lines = [f"Out of memory at step {self.step:,}: {human_bytes(self.requested_bytes)} requested at {self.label}."]
        return "\n".join(lines + ["- " + reason.text for reason in self.reasons])


@dataclass(frozen=True)
class Report(_Told):
    """What happened, why, and what helps. `str(report)` and `print(report)` show it.

    Attributes:
        headline: The answer in a sentence or two, of the device that ran out of memory, else of the one with the
            highest peak; of a part, its peak.
        advice: What helps, best first; always empty for a part, because advice is proven by replays of the whole.
        findings: Sentences about what else is odd; of a part, its requests that failed.
    """

    headline: str
    advice: tuple[Advice, ...]
    findings: tuple[str, ...]
    _data: Mapping[str, Any] = _kept()
    _text: Optional[Callable[[], str]] = field(repr=False, compare=False, default=None)

    def __str__(self) -> str:
        return self._text() if self._text else self.headline


@dataclass(frozen=True)
class Fragmentation(_Told):
    """Free memory inside segments after one step, and how much of it is of no use.

    Attributes:
        pinned_bytes: Free, but a live block in the same segment keeps it from the driver.
        releasable_bytes: Free, and can return to the driver.
        stranded_bytes: Free, but a large request (95th percentile) cannot use it.
        score: Layout score, 0 to 100: below 40 low, from 40 light, 60 moderate, 80 severe; None: there is
            no allocator.
    """

    device: int
    step: int
    reserved_bytes: int
    active_bytes: int
    free_bytes: int
    pinned_bytes: int
    releasable_bytes: int
    stranded_bytes: int
    holes: int
    largest_hole_bytes: int
    waste_bytes: int
    score: Optional[float]
    _data: Mapping[str, Any] = _kept()
    _text: Optional[Callable[[], str]] = field(repr=False, compare=False, default=None)

    def __str__(self) -> str:
        return self._text() if self._text else repr(self)


@dataclass(frozen=True)
class GrowingStack(_Answer):
    """A stack that holds more and more memory.

    Attributes:
        per_step_bytes: Per step of the program, or per 1,000 events if it marks no steps, with the 90 %
            confidence interval from least_per_step_bytes to most_per_step_bytes.
        retained_bytes: Not freed at the end.
        kind: accumulates (old blocks stay) or replaced (new blocks take their place).
    """

    stack_id: Optional[int]
    label: str
    caller: str
    per_step_bytes: float
    least_per_step_bytes: float
    most_per_step_bytes: float
    grown_bytes: int
    retained_bytes: int
    kind: str
    _data: Mapping[str, Any] = _kept()


@dataclass(frozen=True)
class Growth(_Told):
    """What grows, and how that was judged.

    Attributes:
        verdict: told, too_few_points or too_little_turnover.
        basis: steps (annotations of one name) or events.
        program_steps: How many steps the program did; None: none are marked, and rates are per 1,000 events.
        stacks: Fastest first.
        sentences: The answer in words.
    """

    device: int
    verdict: str
    basis: str
    program_steps: Optional[float]
    stacks: tuple[GrowingStack, ...]
    sentences: tuple[str, ...]
    _data: Mapping[str, Any] = _kept()

    def __str__(self) -> str:
        return "\n".join(self.sentences)


@dataclass(frozen=True)
class Verification(_Answer):
    """How many events of the recording the replay reproduces.

    Attributes:
        events_exact: Of events_checked.
        first_difference_step: None: there is none.
    """

    device: int
    events_checked: int
    events_exact: int
    first_difference_step: Optional[int]
    _data: Mapping[str, Any] = _kept()

    @property
    def is_exact(self) -> bool:
        """All events are reproduced."""
        return self.events_exact == self.events_checked


@dataclass(frozen=True)
class Replayed(_Answer):
    """The recording under one PYTORCH_CUDA_ALLOC_CONF.

    Attributes:
        settings: The complete text; "" means that nothing is set.
        ooms: Requests that fail.
        driver_calls: cudaMalloc and cudaFree.
    """

    settings: str
    peak_reserved_bytes: int
    peak_active_bytes: int
    ooms: int
    retries: int
    driver_calls: int
    _data: Mapping[str, Any] = _kept()


@dataclass(frozen=True)
class WhatIf(_Told):
    """The recording under other allocator settings.

    Attributes:
        capacity_bytes: Of the device, given or inferred; None: unknown.
        own: Under its own settings.
        candidates: Best first.
        best: The first candidate if it helps; None: nothing does.
        verification: How far the replay can be trusted.
        sentences: The answer in words.
    """

    device: int
    capacity_bytes: Optional[int]
    own: Replayed
    candidates: tuple[Replayed, ...]
    best: Optional[Replayed]
    verification: Verification
    sentences: tuple[str, ...]
    _data: Mapping[str, Any] = _kept()

    def __str__(self) -> str:
        rows = [("reserved", "active", "retries", "failed", "driver calls", "settings")]
        for one in (self.own, *self.candidates):
            name = (one.settings or "PyTorch's defaults") if one is not self.own else "as recorded"
            rows.append((human_bytes(one.peak_reserved_bytes), human_bytes(one.peak_active_bytes), f"{one.retries:,}", f"{one.ooms:,}",
                         f"{one.driver_calls:,}", name))
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        table = ["  ".join([*(cell.rjust(width) for cell, width in zip(row, widths)), row[5]]) for row in rows]
        return "\n".join([*self.sentences, "", *table])


@dataclass(frozen=True)
class Diff(_Told):
    """Two traces compared, or more as ranks of one job. `str(diff)` shows the table.

    Attributes:
        verdict: The answer in a sentence.
        change_bytes: Active bytes of B minus those of A; None for ranks.
        is_alike: Less than 1 % changed; None for ranks.
    """

    verdict: str
    change_bytes: Optional[int]
    is_alike: Optional[bool]
    _data: Mapping[str, Any] = _kept()
    _text: Optional[Callable[[], str]] = field(repr=False, compare=False, default=None)

    def __str__(self) -> str:
        return self._text() if self._text else self.verdict
