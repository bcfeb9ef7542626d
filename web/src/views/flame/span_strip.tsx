// The steps that a flame graph is about: a band over the device's live bytes, and its two ends.
import { useSignalEffect } from "@preact/signals";
import { useCallback, useRef } from "preact/hooks";
import { deviceLines, wantDeviceLines } from "../../state/answers/device_lines";
import { spanSteps } from "../../state/answers/flame";
import type { Range } from "../../state/link/url";
import { device, go, page } from "../../state/page/store";
import { integer } from "../../text/units";
import { Canvas } from "../../ui/canvas";
import { type Surface, vertical } from "../../ui/plot";

const HANDLE = 8;

function drawSpan(s: Surface, steps: number, [from, to]: Range, active: Float64Array | null): void {
  const toX = (step: number) => (step / Math.max(1, steps)) * s.width;
  let top = 1;
  for (const bytes of active ?? []) if (bytes > top) top = bytes;
  s.c.fillStyle = s.token("accent-line");
  s.c.beginPath();
  s.c.moveTo(0, s.height);
  (active ?? new Float64Array()).forEach((bytes, i, all) => {
    const x = ((i + 0.5) / all.length) * s.width;
    if (!Number.isNaN(bytes)) s.c.lineTo(x, s.height - (bytes / top) * (s.height - 3));
  });
  s.c.lineTo(s.width, s.height);
  s.c.fill();
  const [x0, x1] = [toX(from), Math.min(s.width, toX(to + 1))];
  s.c.fillStyle = s.token("veil");
  s.c.fillRect(0, 0, x0, s.height);
  s.c.fillRect(x1, 0, s.width - x1, s.height);
  vertical(s, Math.min(x0, s.width - 1), 0, s.height, s.token("accent"), [], 1.5);
  vertical(s, Math.min(x1, s.width - 1), 0, s.height, s.token("accent"), [], 1.5);
}

/** What a press near a handle moves; elsewhere it begins a new band. */
function grab(x: number, width: number, steps: number, [from, to]: Range): "from" | "to" | "new" {
  const [x0, x1] = [(from / steps) * width, ((to + 1) / steps) * width];
  if (Math.abs(x - x1) <= HANDLE && Math.abs(x - x1) <= Math.abs(x - x0)) return "to";
  return Math.abs(x - x0) <= HANDLE ? "from" : "new";
}

export function SpanStrip() {
  useSignalEffect(wantDeviceLines);
  const steps = Math.max(1, device.value?.events ?? 1);
  const span = spanSteps.value;
  const [from, to] = span;
  const active = deviceLines.value.data?.activeMax ?? null;
  const held = useRef<{ what: "from" | "to" | "new"; at: number } | null>(null);
  const draw = useCallback(
    (s: Surface) => drawSpan(s, steps, [from, to], active),
    [steps, from, to, active],
  );
  const set = (a: number, b: number) => {
    const limit = (step: number) => Math.max(0, Math.min(steps - 1, Math.round(step)));
    const [low, high] = [limit(Math.min(a, b)), limit(Math.max(a, b))];
    // a range needs two ends: one step is a range of itself
    go({ span: [low, Math.max(high, low + 1)] });
  };
  const stepAt = (event: PointerEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return ((event.clientX - box.left) / Math.max(1, box.width)) * steps;
  };
  const growth = page.value.flame === "growth";
  const end = (name: string, value: number, change: (step: number) => void) => (
    <label class="labelled">
      <span class="k">{name}</span>
      <input
        class="field num"
        type="number"
        min={0}
        max={steps - 1}
        value={value}
        onChange={(event) => {
          const step = event.currentTarget.valueAsNumber;
          if (Number.isFinite(step)) change(step);
        }}
      />
    </label>
  );
  return (
    <div class="spanstrip">
      <div
        class="plot spanplot"
        onPointerDown={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          const what = grab(event.clientX - box.left, box.width, steps, span);
          held.current = { what, at: stepAt(event) };
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={(event) => {
          const now = held.current;
          if (!now) return;
          const at = stepAt(event);
          if (now.what === "from") set(Math.min(at, to), to);
          else if (now.what === "to") set(from, Math.max(at - 1, from));
          else if (Math.abs(at - now.at) > steps / 500) set(now.at, at - 1);
        }}
        onPointerUp={() => {
          held.current = null;
        }}
      >
        <Canvas
          label={`Steps ${integer(from)} to ${integer(to)} of ${integer(steps)}, over live bytes`}
          draw={draw}
        />
      </div>
      {end(growth ? "First mark" : "From step", from, (step) => set(step, Math.max(step, to)))}
      {end(growth ? "second" : "to", to, (step) => set(Math.min(from, step), step))}
      <button
        type="button"
        class="btn quiet"
        disabled={page.value.span === null}
        title="Use the range that the timeline shows"
        onClick={() => go({ span: null })}
      >
        Timeline range
      </button>
    </div>
  );
}
