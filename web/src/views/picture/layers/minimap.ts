// The whole recording in 44 pixels, with a brush for what is seen above.

import type { Range } from "../../../state/link/url";
import type { Domain } from "../../../state/recording/domain";
import { font, label, surface, type Tokens, vertical } from "../../../ui/plot";
import { highest, type LineTile, samples } from "../tiles/line_sampler";
import { GUTTER, type OomMark } from "../window/frame";

interface MinimapFrame {
  domain: Domain;
  /** where the recording that is drawn ends */
  end: number;
  x: Range;
  coarse: LineTile | null;
  ooms: readonly OomMark[];
}

export function drawMinimap(canvas: HTMLCanvasElement, tokens: Tokens, frame: MinimapFrame): void {
  const s = surface(canvas, tokens);
  if (!s) return;
  const { c, width, height } = s;
  const { domain } = frame;
  const toX = (at: number) => GUTTER + (at / domain.room) * (width - GUTTER);
  c.fillStyle = s.token("surface-2");
  c.fillRect(GUTTER, 0, width - GUTTER, height);
  const list = frame.coarse ? samples([frame.coarse], 0, frame.end) : [];
  const [first, last] = [list[0]?.x0 ?? 0, Math.min(frame.end, list.at(-1)?.x1 ?? 0)];
  const top = highest(list) || 1;
  const toY = (bytes: number) => height - 4 - (bytes / top) * (height - 9);
  if (list.length > 0) {
    c.beginPath();
    c.moveTo(toX(first), height - 4);
    for (const one of list) {
      c.lineTo(toX(one.x0), toY(one.activeMax));
      c.lineTo(toX(Math.min(last, one.x1)), toY(one.activeMax));
    }
    c.lineTo(toX(last), height - 4);
    c.fillStyle = s.token("accent-line");
    c.fill();
    c.beginPath();
    list.forEach((one, i) => {
      if (i === 0) c.moveTo(toX(one.x0), toY(one.reservedMax));
      else c.lineTo(toX(one.x0), toY(one.reservedMax));
      c.lineTo(toX(Math.min(last, one.x1)), toY(one.reservedMax));
    });
    c.strokeStyle = s.token("reserved");
    c.lineWidth = 1.25;
    c.stroke();
  }
  for (const one of frame.ooms) vertical(s, toX(one.position), 0, height, s.token("danger"));
  const [from, to] = [toX(frame.x[0]), toX(frame.x[1])];
  c.fillStyle = s.token("veil");
  c.fillRect(GUTTER, 0, from - GUTTER, height);
  c.fillRect(to, 0, width - to, height);
  c.strokeStyle = s.token("accent");
  c.lineWidth = 1;
  c.strokeRect(from + 0.5, 0.5, Math.max(2, to - from - 1), height - 1);
  c.fillStyle = s.token("accent");
  for (const x of [from + 1, to - 4]) {
    c.beginPath();
    c.roundRect(x, height / 2 - 8, 3, 16, 1.5);
    c.fill();
  }
  font(s);
  label(s, "overview", GUTTER - 7, height / 2, { align: "right" });
}

export type Grip = "from" | "to" | "brush" | "new";

/** What a press at this pixel takes hold of; handles are 24 pixels wide for the hand. */
export function gripAt(pixel: number, width: number, x: Range, domain: Domain): Grip {
  const toX = (at: number) => GUTTER + (at / domain.room) * (width - GUTTER);
  const [from, to] = [toX(x[0]), toX(x[1])];
  const reach = Math.min(12, Math.max(3, (to - from) / 3));
  if (Math.abs(pixel - from) <= reach) return "from";
  if (Math.abs(pixel - to) <= reach) return "to";
  return pixel > from && pixel < to ? "brush" : "new";
}

export function minimapPosition(pixel: number, width: number, domain: Domain): number {
  return ((pixel - GUTTER) / Math.max(1, width - GUTTER)) * domain.room;
}
