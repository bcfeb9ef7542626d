// The two lines of a recording: allocated and reserved, over its whole length.

import { useSignalEffect } from "@preact/signals";
import { useCallback, useMemo } from "preact/hooks";
import type { DeviceInfo, Peak } from "../../api/contract";
import { deviceLines, wantDeviceLines } from "../../state/answers/device_lines";
import { device } from "../../state/page/store";
import { decimalStep, multiples } from "../../text/ticks";
import { bytesText, integer } from "../../text/units";
import { Canvas } from "../../ui/canvas";
import {
  font,
  gapLine,
  hatch,
  horizontal,
  label,
  plate,
  type Surface,
  staff,
  vertical,
} from "../../ui/plot";
import { highest, highestWithin, type Sample, samples } from "../picture/tiles/line_sampler";

const GUTTER = 62;
const ROOM = 1.01;

interface Drawn {
  list: readonly Sample[];
  of: DeviceInfo;
}

function drawLines(s: Surface, { list, of }: Drawn): void {
  const { c, width, height } = s;
  const [left, right, top, bottom] = [GUTTER, width - 2, of.ooms.length > 0 ? 26 : 10, height - 22];
  const level = highest(list);
  const ceiling =
    of.ceiling_bytes !== null && of.ceiling_bytes < level * 1.5 ? of.ceiling_bytes : null;
  const high = Math.max(level, ceiling ?? 0) * 1.07 || 1;
  const toY = staff(s, { x: left, top, bottom, low: 0, high, gridTo: right, labelPixels: 34 });
  const toX = (step: number) => left + (step / (of.events * ROOM)) * (right - left);
  horizontal(s, left, right, bottom, s.token("axis"));

  const path = (value: (one: Sample) => number) => {
    list.forEach((one, i) => {
      const y = toY(value(one));
      if (i === 0) c.moveTo(toX(one.x0), y);
      else c.lineTo(toX(one.x0), y);
      c.lineTo(toX(Math.min(of.events, one.x1)), y);
    });
  };
  const close = () => {
    c.lineTo(toX(of.events), bottom);
    c.lineTo(toX(0), bottom);
    c.closePath();
  };
  c.beginPath();
  path((one) => one.reservedMax);
  close();
  c.fillStyle = hatch(c, s.token("hatch"));
  c.fill();
  c.beginPath();
  path((one) => one.activeMax);
  close();
  c.fillStyle = s.token("surface");
  c.fill();
  c.fillStyle = s.token("accent-weak");
  c.fill();
  c.lineJoin = "round";
  c.beginPath();
  path((one) => one.activeMax);
  c.strokeStyle = s.token("accent");
  c.lineWidth = 1.5;
  c.stroke();
  c.beginPath();
  path((one) => one.reservedMax);
  c.strokeStyle = s.token("reserved");
  c.lineWidth = 1.75;
  c.stroke();

  if (ceiling !== null) {
    horizontal(s, left, right, toY(ceiling), s.token("ink-3"), [1, 3]);
    font(s);
    label(
      s,
      `ceiling ${of.ceiling_at_most ? "≤ " : ""}${bytesText(ceiling)}`,
      left + 8,
      toY(ceiling) + 9,
      {
        colour: s.token("ink-2"),
        halo: true,
      },
    );
  }
  drawPeak(s, { list, of, toX, toY, left, ceiling });
  for (const { step } of of.gaps) gapLine(s, toX(step), top, bottom);
  for (const oom of of.ooms) {
    vertical(s, toX(oom.step + 0.5), 4, bottom, s.token("danger"), [], 1.5);
  }
  const last = of.ooms.at(-1);
  if (last) {
    const drawn =
      of.oom_count > of.ooms.length ? `, the first ${integer(of.ooms.length)} drawn` : "";
    const text = of.oom_count === 1 ? "OOM" : `${integer(of.oom_count)} OOM${drawn}`;
    plate(s, text, toX(last.step + 0.5) + 1, 12, {
      align: drawn ? "left" : "right",
      background: s.token("danger"),
      colour: s.token("surface"),
    });
  }
  font(s);
  for (const step of multiples(0, of.events, decimalStep(of.events, right - left, 100))) {
    vertical(s, toX(step), bottom, bottom + 4, s.token("axis"));
    const text = step === 0 ? "step 0" : integer(step);
    if (toX(step) + s.c.measureText(text).width / 2 > right) continue;
    label(s, text, toX(step), bottom + 13, { align: step === 0 ? "left" : "center" });
  }
}

interface PeakLabel extends Drawn {
  toX: (step: number) => number;
  toY: (bytes: number) => number;
  left: number;
  ceiling: number | null;
}

function drawPeak(s: Surface, { list, of, toX, toY, left, ceiling }: PeakLabel): void {
  const { bytes, step, at_start: first, at_least: least } = of.peak.reserved;
  if (bytes === 0) return;
  const [x, y] = [toX(step), toY(bytes)];
  const text = `peak reserved ${least ? "≥ " : ""}${bytesText(bytes)}${first ? ", before the first step" : ""}`;
  font(s, 11, 500);
  const wide = s.c.measureText(text).width + 24;
  const side = x - left > wide ? -1 : 1;
  // under the level where nothing lies there, else above it, and above the ceiling if that is near
  const perPixel = step / Math.max(1, x - left);
  const data = toY(highestWithin(list, step - wide * perPixel, step - 10 * perPixel));
  const near = ceiling !== null && y - toY(ceiling) < 18 ? toY(ceiling) : y;
  const under = side < 0 && data > y + 20;
  s.c.fillStyle = s.token("reserved");
  s.c.beginPath();
  s.c.moveTo(x + side * 2, y);
  s.c.lineTo(x + side * 9, y - 4.5);
  s.c.lineTo(x + side * 9, y + 4.5);
  s.c.fill();
  label(s, text, x + side * 14, under ? y + 12 : near - 9, {
    align: side < 0 ? "right" : "left",
    colour: s.token("reserved-text"),
    backed: true,
  });
}

function peakText({ bytes, step, at_start: first, at_least: least }: Peak): string {
  return `${least ? "at least " : ""}${bytesText(bytes)} ${first ? "before the first step" : `at step ${integer(step)}`}`;
}

export function LinesPlot() {
  useSignalEffect(wantDeviceLines);
  const of = device.value;
  const { data, error } = deviceLines.value;
  const drawn = useMemo<Drawn | null>(() => {
    if (!data || !of) return null;
    const column = of.events / data.columns;
    const tile = { lines: data, x0: 0, column, from: 0, to: of.events };
    return { list: samples([tile], 0, of.events), of };
  }, [data, of]);
  const draw = useCallback((s: Surface) => drawn && drawLines(s, drawn), [drawn]);
  if (error) return <p class="dim">{error.what}</p>;
  const text = of
    ? `Peak allocated ${peakText(of.peak.active)}, peak reserved ${peakText(of.peak.reserved)}`
    : "Allocated and reserved bytes";
  return <Canvas label={text} draw={draw} />;
}
