// The recording as a strip under the segments: drag along it and the state follows.
import { useSignalEffect } from "@preact/signals";
import { useCallback, useRef } from "preact/hooks";
import { deviceLines, wantDeviceLines } from "../../state/answers/device_lines";
import { goStep } from "../../state/answers/layout";
import { cursorStep } from "../../state/page/cursor";
import { device } from "../../state/page/store";
import { integer } from "../../text/units";
import { Canvas } from "../../ui/canvas";
import { type Surface, vertical } from "../../ui/plot";
import { stopPlaying } from "./player";

export function Scrubber() {
  useSignalEffect(wantDeviceLines);
  const { data } = deviceLines.value;
  const of = device.value;
  const step = cursorStep.value;
  const held = useRef(false);
  const draw = useCallback(
    (s: Surface) => {
      const events = Math.max(1, of?.events ?? 1);
      const top = Math.max(1, of?.peak.reserved.bytes ?? 0, of?.peak.active.bytes ?? 0);
      const toX = (at: number) => (at / events) * s.width;
      const toY = (bytes: number) => s.height - (bytes / top) * (s.height - 4);
      s.c.fillStyle = s.token("accent-weak");
      s.c.beginPath();
      s.c.moveTo(0, s.height);
      data?.activeMax.forEach((bytes, i) => {
        if (!Number.isNaN(bytes)) s.c.lineTo((i / data.columns) * s.width, toY(bytes));
      });
      s.c.lineTo(s.width, s.height);
      s.c.fill();
      s.c.strokeStyle = s.token("reserved");
      s.c.lineWidth = 1.25;
      s.c.beginPath();
      data?.reservedMax.forEach((bytes, i) => {
        if (!Number.isNaN(bytes)) s.c.lineTo((i / data.columns) * s.width, toY(bytes));
      });
      s.c.stroke();
      for (const oom of of?.ooms ?? []) {
        vertical(s, Math.min(s.width - 1, toX(oom.step)), 0, s.height, s.token("danger"));
      }
      const x = Math.max(1, Math.min(s.width - 1, toX(step + 0.5)));
      vertical(s, x - 0.5, 0, s.height, s.token("ink"), [], 1.5);
      s.c.fillStyle = s.token("ink");
      s.c.beginPath();
      s.c.roundRect(x - 3.5, s.height / 2 - 8, 7, 16, 3);
      s.c.fill();
    },
    [data, of, step],
  );
  const put = (event: PointerEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const share = (event.clientX - box.left) / Math.max(1, box.width);
    goStep(Math.floor(Math.min(1, Math.max(0, share)) * Math.max(1, of?.events ?? 1)));
  };
  const last = Math.max(0, (of?.events ?? 1) - 1);
  return (
    <div
      class="scrubber"
      id="scrubber"
      role="slider"
      tabIndex={0}
      aria-label="Step of the recording"
      aria-valuemin={0}
      aria-valuemax={last}
      aria-valuenow={step}
      aria-valuetext={`step ${integer(step)} of ${integer(last)}`}
      title="Drag to any step"
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        stopPlaying();
        held.current = true;
        event.currentTarget.setPointerCapture(event.pointerId);
        put(event);
      }}
      onPointerMove={(event) => held.current && put(event)}
      onPointerUp={() => {
        held.current = false;
      }}
      onPointerCancel={() => {
        held.current = false;
      }}
      onKeyDown={(event) => {
        const far = Math.max(1, Math.round(last / 50));
        const to = { Home: 0, End: last, PageUp: step - far, PageDown: step + far }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        event.stopPropagation();
        goStep(to);
      }}
    >
      <Canvas label="Allocated and reserved bytes over the recording" draw={draw} />
    </div>
  );
}
