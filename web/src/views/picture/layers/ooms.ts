// Out of memory: a red line over the full height, a plate above the picture, and the request as a
// box on the reserved level. The part above the ceiling is solid red: it shows why the request
// failed.
import type { DeviceInfo, Oom } from "../../../api/contract";
import type { Domain } from "../../../state/recording/domain";
import { worstOom } from "../../../state/recording/ooms";
import { bytesText, together } from "../../../text/units";
import {
  backedLines,
  font,
  hatch,
  horizontal,
  label,
  plate,
  type Surface,
  vertical,
} from "../../../ui/plot";
import { highestWithin } from "../tiles/line_sampler";
import {
  type Frame,
  fromX,
  LANE_HEIGHT,
  type OomMark,
  toX,
  toY,
  type XFrame,
} from "../window/frame";

const BOX_WIDTH = 24;
const BOX_GAP = 7;

/** Positions of the out-of-memory events; one without a time has none on a time axis. */
export function oomMarks(of: DeviceInfo, domain: Domain): OomMark[] {
  return of.ooms.flatMap((oom) => {
    if (domain.axis === "step") return [{ position: oom.step + 0.5, oom }];
    return oom.time_us === null ? [] : [{ position: oom.time_us - domain.base, oom }];
  });
}

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
  const shown = seen.find((one) => one.oom === worst);
  if (shown) drawRequest(s, frame, shown);
  drawPlates(s, frame, seen);
}

function drawRequest(s: Surface, frame: Frame, { position, oom }: OomMark): void {
  const { plot } = frame;
  const line = toX(frame, position);
  const room = plot.right - line - BOX_GAP - 2;
  const left = room >= 10 ? line + BOX_GAP : line - BOX_GAP - BOX_WIDTH;
  const width = Math.min(BOX_WIDTH, room >= 10 ? room : BOX_WIDTH);
  const stands = oom.reserved_bytes + (oom.requested_bytes ?? 0);
  const ceiling =
    oom.device_free_bytes === null ? stands : oom.reserved_bytes + oom.device_free_bytes;
  const bottom = Math.min(plot.bottom, toY(frame, oom.reserved_bytes));
  const top = Math.max(plot.top, toY(frame, stands));
  if (bottom <= top) return;
  const red = s.token("danger");
  s.c.fillStyle = s.token("danger-weak");
  s.c.fillRect(left, top, width, bottom - top);
  s.c.fillStyle = hatch(s.c, s.token("danger-line"));
  s.c.fillRect(left, top, width, bottom - top);
  const edge = Math.min(bottom, Math.max(top, toY(frame, ceiling)));
  if (stands > ceiling) {
    s.c.fillStyle = red;
    s.c.fillRect(left, top, width, Math.max(2, edge - top));
  }
  s.c.strokeStyle = red;
  s.c.lineWidth = 1;
  s.c.strokeRect(left + 0.5, top + 0.5, width - 1, bottom - top - 1);
  drawRequestText(s, frame, oom, { line, left, right: left + width, top, bottom });
}

interface RequestBox {
  /** the mark itself, then the box beside it */
  line: number;
  left: number;
  right: number;
  top: number;
  bottom: number;
}

const TEXT_HEIGHT = 32;
const LEADER = 34;

/** In free room: right of the box, else left between the levels, else above everything. */
function drawRequestText(s: Surface, frame: Frame, oom: Oom, box: RequestBox): void {
  const { plot } = frame;
  const text = requestText(oom);
  const colours = [s.token("danger"), s.token("ink-2")] as const;
  font(s, 11, 500);
  const first = s.c.measureText(text[0]).width;
  font(s);
  const wide = Math.max(first, s.c.measureText(text[1]).width);
  const middle = (box.top + box.bottom) / 2 - 4;
  if (box.right + wide + 20 < plot.right) {
    const y = Math.max(plot.top + 8, Math.min(middle, box.bottom - TEXT_HEIGHT + 10));
    font(s, 11, 500);
    label(s, text[0], box.right + 8, y, { colour: colours[0], halo: true });
    font(s);
    label(s, text[1], box.right + 8, y + 15, { colour: colours[1], halo: true });
    return;
  }
  if (box.line - plot.left < wide + LEADER + 26) return;
  const right = box.line - LEADER;
  const below = toY(frame, frame.device.peak.reserved.bytes) + 33;
  const data = toY(
    frame,
    highestWithin(frame.samples, fromX(frame, right - wide - 6), fromX(frame, right)),
  );
  const under = Math.max(middle + 12, below);
  const y =
    under + TEXT_HEIGHT - 8 < data
      ? under
      : data - TEXT_HEIGHT - 10 > plot.top
        ? Math.min(plot.top + 10, data - TEXT_HEIGHT - 10)
        : Math.min(plot.bottom - 40, under);
  backedLines(s, text, right, y, colours);
  horizontal(s, box.line - LEADER + 6, box.left, y + 7, s.token("danger-line"));
}

function requestText(oom: Oom): [string, string] {
  if (oom.requested_bytes === null)
    return ["Request of unknown size", "the file does not state it"];
  if (oom.device_free_bytes === null) {
    return [`Request ${bytesText(oom.requested_bytes)}`, "free driver memory is not recorded"];
  }
  const over = oom.requested_bytes - oom.device_free_bytes;
  const [asked, short] = together(oom.requested_bytes, Math.abs(over));
  if (over > 0) return [`Request ${asked}`, `${short} more than the driver had free`];
  return [`Request ${asked}`, `the driver had ${short} more, but not in one piece`];
}

/** Plates that would cover each other become one with a count. */
export function drawPlates(s: Surface, frame: XFrame, ooms: readonly OomMark[]): void {
  const groups: { x: number; count: number }[] = [];
  for (const one of ooms) {
    const x = toX(frame, one.position);
    const last = groups.at(-1);
    if (last && x - last.x < 46) last.count += 1;
    else groups.push({ x, count: 1 });
  }
  for (const { x, count } of groups) {
    const text = count === 1 ? "OOM" : `${count} OOM`;
    plate(s, text, x - 1, frame.plot.head + LANE_HEIGHT / 2, {
      background: s.token("danger"),
      colour: s.token("surface"),
    });
  }
}
