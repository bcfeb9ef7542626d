// Annotations as bands in lanes: the outermost strong, what is nested below it plain.

import type { Annotation } from "../../../api/contract";
import type { Range } from "../../../state/link/url";
import { visible } from "../../../text/visible";
import { font, label, type Surface } from "../../../ui/plot";
import { LANE_HEIGHT, MAX_LANES, toX, type XFrame } from "../window/frame";

const ROOM = 8;

export function drawBands(s: Surface, frame: XFrame): void {
  if (frame.lanes === 0) return;
  const { plot } = frame;
  font(s);
  label(s, "phase", plot.left - 11, plot.head + LANE_HEIGHT / 2, { align: "right" });
  if (frame.lanes > 1) {
    label(s, "nested", plot.left - 11, plot.head + LANE_HEIGHT * 1.5 + 1, { align: "right" });
  }
  s.c.save();
  s.c.beginPath();
  s.c.rect(plot.left, plot.head, plot.right - plot.left, plot.top - plot.head);
  s.c.clip();
  const ends = new Array<number>(frame.lanes).fill(Number.NEGATIVE_INFINITY);
  for (const one of frame.annotations) {
    if (end(frame, one) < frame.x[0] || one.depth >= frame.lanes) continue;
    if (begin(frame, one) > frame.x[1]) break;
    const left = Math.max(frame.plot.left, toX(frame, begin(frame, one)));
    const right = Math.min(frame.plot.right, toX(frame, end(frame, one)));
    if (right <= frame.plot.left || left >= frame.plot.right) continue;
    // thousands of bands can share a pixel: one of them is enough
    if (right <= (ends[one.depth] ?? 0) + 0.5) continue;
    ends[one.depth] = right;
    drawBand(s, one, plot.head, left, Math.max(left + 1, right));
  }
  s.c.restore();
}

/** The band under a pixel of the lanes; the last one drawn lies on top. */
export function bandAt(frame: XFrame, pixelX: number, pixelY: number): Annotation | null {
  const lane = Math.floor((pixelY - frame.plot.head) / (LANE_HEIGHT + 1));
  if (pixelX < frame.plot.left || lane < 0 || lane >= frame.lanes) return null;
  const within = (one: Annotation) =>
    one.depth === lane &&
    toX(frame, begin(frame, one)) <= pixelX &&
    Math.max(toX(frame, begin(frame, one)) + 1, toX(frame, end(frame, one))) > pixelX;
  return frame.annotations.findLast(within) ?? null;
}

/** What a phase covers, as positions of the axis. */
export function bandRange(frame: XFrame, one: Annotation): Range {
  const [low, high] = [begin(frame, one), end(frame, one)];
  return [low, Math.max(low + 1, high)];
}

/** In the order of their beginnings on either axis, and only those in lanes that are drawn. */
export function drawable(list: readonly Annotation[]): Annotation[] {
  return list
    .filter((one) => one.depth < MAX_LANES)
    .sort((a, b) => a.begin_step - b.begin_step || a.begin_us - b.begin_us || a.depth - b.depth);
}

function begin(frame: XFrame, one: Annotation): number {
  return frame.domain.axis === "time" ? one.begin_us - frame.domain.base : one.begin_step;
}

function end(frame: XFrame, one: Annotation): number {
  if (frame.domain.axis === "time") {
    return one.end_us === null ? frame.domain.end : one.end_us - frame.domain.base;
  }
  return one.end_step;
}

function drawBand(s: Surface, one: Annotation, head: number, left: number, right: number): void {
  const strong = one.depth === 0;
  const y = head + one.depth * (LANE_HEIGHT + 1);
  s.c.fillStyle = s.token(strong ? "press" : "surface-2");
  s.c.fillRect(left, y, Math.max(1, right - left - 1), LANE_HEIGHT);
  const text = bandText(s, visible(one.name), right - left - ROOM, strong);
  if (text === "") return;
  label(s, text, left + 5, y + LANE_HEIGHT / 2 + 0.5, {
    colour: s.token(strong ? "ink" : "ink-2"),
  });
}

/** The name if it fits, then the number at its end, then nothing. */
function bandText(s: Surface, name: string, room: number, strong: boolean): string {
  if (room < 8) return "";
  font(s, 11, strong ? 500 : 400);
  if (s.c.measureText(name).width <= room) return name;
  const digits = /(\d+)\D*$/.exec(name)?.[1] ?? "";
  return digits !== "" && s.c.measureText(digits).width <= room ? digits : "";
}
