// A failed request against the available memory: the upper part of the device, magnified.
//
//   driver free │        │ ▓▓ over
//               │        │ ░░ request
//   free, holes │////////│
//   live        │████████│
import { useCallback } from "preact/hooks";
import type { FailedRequest } from "../../api/contract";
import { bytesIn, bytesText, counted, sharedUnit } from "../../text/units";
import { Canvas } from "../../ui/canvas";
import { font, hatch, horizontal, label, type Surface, staff } from "../../ui/plot";

/** What part of the gauge is shown: the request and the free parts fill most of it. */
function shownRange(of: FailedRequest): [number, number] {
  const top = Math.max(of.reserved_bytes + of.requested_bytes, of.ceiling_bytes);
  const shown = top - Math.min(of.active_bytes, of.reserved_bytes);
  const low = Math.max(0, top - shown * 1.22);
  return [low < top * 0.12 ? 0 : low, top + (top - low) * 0.07];
}

function drawRequest(s: Surface, of: FailedRequest): void {
  const { c, width, height } = s;
  const [low, high] = shownRange(of);
  const [left, top, bottom] = [66, 8, height - 14];
  const toY = staff(s, { x: left, top, bottom, low, high, labelPixels: 32 });
  const gauge = left + 8;
  const room = width - gauge - 15 - wordsWidth(s, wordsOf(s, of));
  const gaugeWidth = Math.max(24, Math.min(78, Math.round(room * 0.57)));
  const box = gauge + gaugeWidth + 6;
  const boxWidth = Math.max(18, Math.min(58, Math.round(room * 0.43) - 6));
  const reserved = toY(of.reserved_bytes);
  const active = toY(Math.max(low, of.active_bytes));
  const ceiling = toY(of.ceiling_bytes);
  const stands = toY(of.reserved_bytes + of.requested_bytes);
  const red = s.token("danger");

  c.fillStyle = s.token("surface");
  c.fillRect(gauge, ceiling, gaugeWidth, bottom - ceiling);
  c.fillStyle = s.token("accent");
  c.fillRect(gauge, active, gaugeWidth, bottom - active);
  c.fillStyle = s.token("reserved-weak");
  c.fillRect(gauge, reserved, gaugeWidth, active - reserved);
  c.fillStyle = hatch(c, s.token("reserved"), 6);
  c.fillRect(gauge, reserved, gaugeWidth, active - reserved);
  horizontal(s, gauge, gauge + gaugeWidth, reserved, s.token("reserved"), [], 2);
  if (low > 0) tornEdge(s, gauge, gaugeWidth, bottom);

  c.fillStyle = s.token("danger-weak");
  c.fillRect(box, Math.max(ceiling, stands), boxWidth, reserved - Math.max(ceiling, stands));
  c.strokeStyle = s.token("danger-line");
  c.lineWidth = 1;
  c.strokeRect(box + 0.5, stands + 0.5, boxWidth - 1, reserved - stands - 1);
  if (stands < ceiling) {
    c.fillStyle = red;
    c.fillRect(box, stands, boxWidth, Math.max(2, ceiling - stands));
  }
  horizontal(s, left, box + boxWidth + 8, ceiling, s.token("ink-2"), [1, 3]);
  c.strokeStyle = s.token("line-2");
  c.strokeRect(gauge + 0.5, Math.round(ceiling) + 0.5, gaugeWidth - 1, reserved - ceiling);

  drawWords(s, of, { x: box + boxWidth + 9, ceiling, stands, reserved, active });
  font(s, 11, 500);
  const middle = (ceiling + reserved) / 2;
  if (bottom - active > 22) {
    label(s, "live", gauge + gaugeWidth / 2, Math.min(active + 14, (active + bottom) / 2), {
      align: "center",
      colour: s.token("on-accent"),
    });
  }
  if (reserved - ceiling > 34) {
    const free = shared(of)(of.device_free_bytes);
    label(s, "driver free", gauge + gaugeWidth / 2, middle - 7, {
      align: "center",
      colour: s.token("ink-2"),
    });
    label(s, free, gauge + gaugeWidth / 2, middle + 8, { align: "center", colour: s.token("ink") });
  }
  const foot = Math.max(stands, ceiling);
  if (reserved - foot > 16 && c.measureText("request").width < boxWidth - 4) {
    label(s, "request", box + boxWidth / 2, (foot + reserved) / 2, {
      align: "center",
      colour: red,
    });
  }
}

interface Words {
  x: number;
  ceiling: number;
  stands: number;
  reserved: number;
  active: number;
}

interface Word {
  strong: string;
  plain: string;
  colour: string;
}

/** From top to bottom: what is missing, what was asked, what was free. */
function wordsOf(s: Surface, of: FailedRequest): [Word, Word, Word] {
  const say = shared(of);
  const ceiling = `ceiling ${of.ceiling_at_most ? "≤ " : ""}${bytesText(of.ceiling_bytes)}`;
  return [
    of.over_bytes > 0
      ? { strong: `${say(of.over_bytes)} over`, plain: ceiling, colour: s.token("danger") }
      : { strong: ceiling, plain: "not reached", colour: s.token("ink") },
    { strong: say(of.requested_bytes), plain: "requested", colour: s.token("ink") },
    {
      strong: say(of.free_bytes),
      plain: `free, in ${counted(of.holes, "piece")}`,
      colour: s.token("reserved-text"),
    },
  ];
}

function wordsWidth(s: Surface, words: readonly Word[]): number {
  return Math.max(
    ...words.map((word) => {
      font(s, 12, 600);
      const strong = s.c.measureText(word.strong).width;
      font(s);
      return Math.max(strong, s.c.measureText(word.plain).width);
    }),
  );
}

/** Words at the right of the gauge, kept apart from each other. */
function drawWords(s: Surface, of: FailedRequest, at: Words): void {
  const heights = [
    Math.min(at.stands, at.ceiling) - 1,
    (at.stands + at.reserved) / 2 - 4,
    (at.reserved + at.active) / 2 - 7,
  ];
  let floor = 8;
  wordsOf(s, of).forEach((word, i) => {
    const y = Math.max(floor, heights[i] ?? 0);
    font(s, 12, 600);
    label(s, word.strong, at.x, y, { colour: word.colour });
    font(s);
    label(s, word.plain, at.x, y + 15, { colour: s.token("ink-2") });
    floor = y + 38;
  });
}

/** Numbers that are compared share a unit, unless one of them would read as zero in it. */
function shared(of: FailedRequest): (bytes: number) => string {
  const unit = sharedUnit(of.requested_bytes, of.device_free_bytes);
  return (bytes) => {
    const { number } = bytesIn(bytes, unit);
    return Number(number) === 0 ? bytesText(bytes) : `${number} ${unit}`;
  };
}

function tornEdge(s: Surface, x: number, width: number, bottom: number): void {
  const { c } = s;
  c.fillStyle = s.token("surface-2");
  c.beginPath();
  c.moveTo(x - 3, bottom + 1);
  for (let i = 0; i <= 13; i += 1) {
    c.lineTo(x - 3 + (i * (width + 6)) / 13, bottom - (i % 2 === 1 ? 6 : 0));
  }
  c.lineTo(x + width + 3, bottom + 3);
  c.lineTo(x - 3, bottom + 3);
  c.fill();
}

function verdict(of: FailedRequest): string {
  const usable = of.free_bytes - of.held_bytes;
  if (usable >= of.requested_bytes) {
    return "In one piece, the free memory would have been enough.";
  }
  if (usable + of.device_free_bytes >= of.requested_bytes) {
    return "The free pieces and the driver's memory together would have been enough.";
  }
  if (of.free_bytes + of.device_free_bytes >= of.requested_bytes) {
    return `Private pools keep ${bytesText(of.held_bytes)} of the free memory from this request.`;
  }
  return "All free memory together would not have been enough.";
}

export function FailedRequestGauge({ of }: { of: FailedRequest }) {
  const draw = useCallback((s: Surface) => drawRequest(s, of), [of]);
  const over = of.over_bytes > 0 ? `, ${bytesText(of.over_bytes)} above the ceiling` : "";
  return (
    <aside class="shortage" aria-label="Why the request failed">
      <h2>Request against available memory</h2>
      <p>Memory of the device when the request failed.</p>
      <div class="plot">
        <Canvas
          label={`Reserved ${bytesText(of.reserved_bytes)} plus the request of ${bytesText(of.requested_bytes)}${over}`}
          draw={draw}
        />
      </div>
      <p class="faint">{verdict(of)}</p>
    </aside>
  );
}
