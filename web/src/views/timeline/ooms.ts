// Out of memory: a red line over the full height, a plate in the lanes, and the request as a box
// that stands on the reserved level. What rises above the ceiling is solid red: the answer to "why".
import type { Oom } from "../../api/contract";
import { worstOom } from "../../state/ooms";
import { backedLines, font, hatch, horizontal, plate, type Surface, vertical } from "../../ui/plot";
import { type Frame, LANE_HEIGHT, type OomMark, toX, toY } from "./frame";
import { together } from "./front_layer";

const BOX_WIDTH = 24;
const BOX_GAP = 7;

export function drawOoms(s: Surface, frame: Frame): void {
  const { plot } = frame;
  const seen = frame.ooms.filter((one) => {
    const x = toX(frame, one.position);
    return x >= plot.left - 1 && x <= plot.right + 1;
  });
  for (const one of seen) {
    vertical(s, toX(frame, one.position), plot.top, plot.bottom, s.token("danger"), [], 1.5);
  }
  const worst = worstOom(seen.map((one) => one.oom));
  const told = seen.find((one) => one.oom === worst);
  if (told) drawRequest(s, frame, told);
  drawPlates(s, frame, seen);
}

function drawRequest(s: Surface, frame: Frame, { position, oom }: OomMark): void {
  const { plot } = frame;
  const line = toX(frame, position);
  const room = plot.right - line - BOX_GAP - 2;
  const left = room >= 10 ? line + BOX_GAP : line - BOX_GAP - BOX_WIDTH;
  const width = Math.min(BOX_WIDTH, room >= 10 ? room : BOX_WIDTH);
  const ceiling = oom.reserved_bytes + oom.device_free_bytes;
  const stands = oom.reserved_bytes + oom.requested_bytes;
  const bottom = Math.min(plot.bottom, toY(frame, oom.reserved_bytes));
  const top = Math.max(plot.top, toY(frame, stands));
  if (bottom <= top) return;
  const red = s.token("danger");
  s.c.fillStyle = s.token("danger-weak");
  s.c.fillRect(left, top, width, bottom - top);
  s.c.fillStyle = hatch(s.c, s.token("danger-line"));
  s.c.fillRect(left, top, width, bottom - top);
  const brim = Math.min(bottom, Math.max(top, toY(frame, ceiling)));
  if (stands > ceiling) {
    s.c.fillStyle = red;
    s.c.fillRect(left, top, width, Math.max(2, brim - top));
  }
  s.c.strokeStyle = red;
  s.c.lineWidth = 1;
  s.c.strokeRect(left + 0.5, top + 0.5, width - 1, bottom - top - 1);
  const text = requestText(oom);
  font(s, 11, 500);
  const wide = Math.max(s.c.measureText(text[0]).width, s.c.measureText(text[1]).width);
  if (line - plot.left < wide + 60) return;
  const water = toY(frame, frame.device.peak.reserved.bytes) + 33;
  const y = Math.min(plot.bottom - 40, Math.max((top + bottom) / 2 + 8, water));
  backedLines(s, text, line - 34, y, [red, s.token("ink-2")]);
  horizontal(s, line - 28, left, y + 7, s.token("danger-line"));
}

function requestText(oom: Oom): [string, string] {
  const over = oom.requested_bytes - oom.device_free_bytes;
  const [asked, short] = together(oom.requested_bytes, Math.abs(over));
  if (over > 0) return [`Request ${asked}`, `on the reserved level, ${short} over`];
  return [`Request ${asked}`, `the driver had ${short} more, but not in one piece`];
}

/** Plates that would cover each other become one with a count. */
function drawPlates(s: Surface, frame: Frame, ooms: readonly OomMark[]): void {
  const groups: { x: number; count: number }[] = [];
  for (const one of ooms) {
    const x = toX(frame, one.position);
    const last = groups.at(-1);
    if (last && x - last.x < 46) last.count += 1;
    else groups.push({ x, count: 1 });
  }
  for (const { x, count } of groups) {
    const text = count === 1 ? "OOM" : `${count} OOM`;
    plate(s, text, x - 1, 4 + LANE_HEIGHT / 2, {
      background: s.token("danger"),
      colour: s.token("surface"),
    });
  }
}
