// The chosen allocation as an outline over its whole life, and a veil over what is under the
// pointer.
import { NO_ID } from "../../../api/tile";
import type { Surface } from "../../../ui/plot";
import type { Shown } from "../tiles/source";
import { type Frame, toX, toY } from "../window/frame";

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** Every box of an allocation in the tiles that are drawn; a scan of the ids, no index needed. */
function boxesOf(frame: Frame, id: number): Box[] {
  const out: Box[] = [];
  for (const shown of frame.shown) collect(frame, shown, id, out);
  return out.sort((a, b) => a.left - b.left);
}

function collect(frame: Frame, shown: Shown, id: number, out: Box[]): void {
  const { tile } = shown;
  for (let index = 0, at = 0; index < tile.quads; index += 1, at += 8) {
    if (tile.words[at + 3] !== id) continue;
    const columns = tile.words[at] ?? 0;
    const x0 = Math.max(shown.from, shown.x0 + (columns & 0xffff) * shown.column);
    const x1 = Math.min(shown.to, shown.x0 + (columns >>> 16) * shown.column);
    if (x1 <= x0) continue;
    out.push({
      left: toX(frame, x0),
      right: toX(frame, x1),
      top: toY(frame, tile.y0 + (tile.floats[at + 2] ?? 0)),
      bottom: toY(frame, tile.y0 + (tile.floats[at + 1] ?? 0)),
    });
  }
}

export function veilHovered(s: Surface, frame: Frame): void {
  const id = frame.hover?.id ?? null;
  if (id === null || id === NO_ID || id === frame.selected) return;
  s.c.fillStyle = s.token("seam");
  for (const box of boxesOf(frame, id)) {
    s.c.fillRect(box.left, box.top, box.right - box.left, Math.max(1, box.bottom - box.top));
  }
}

export function drawSelected(s: Surface, frame: Frame): void {
  if (frame.selected === null) return;
  const exact = frame.shape ? boxesOfShape(frame) : [];
  const boxes = exact.length > 0 ? exact : boxesOf(frame, frame.selected);
  if (boxes.length > 0) outline(s, boxes);
}

function boxesOfShape(frame: Frame): Box[] {
  const out: Box[] = [];
  const mark = frame.shape;
  if (!mark) return out;
  const { shape } = mark;
  for (let i = 0; i < shape.columns; i += 1) {
    const low = shape.lower[i] ?? Number.NaN;
    if (Number.isNaN(low)) continue;
    const left = toX(frame, mark.x0 + i * mark.column);
    const right = toX(frame, mark.x0 + (i + 1) * mark.column);
    const bottom = toY(frame, shape.y0 + low);
    const top = toY(frame, shape.y0 + low + shape.heightBytes);
    const last = out.at(-1);
    if (last && Math.abs(last.right - left) < 0.01 && Math.abs(last.bottom - bottom) < 0.25) {
      last.right = right;
    } else out.push({ left, right, top, bottom });
  }
  return out;
}

/** One outline round all boxes that touch; a life thinner than 4 px is filled instead. */
function outline(s: Surface, boxes: readonly Box[]): void {
  const { c } = s;
  c.strokeStyle = s.token("outline");
  c.fillStyle = s.token("outline");
  c.lineWidth = 1.5;
  const thin = boxes.every((box) => box.bottom - box.top < 4);
  c.beginPath();
  boxes.forEach((box, i) => {
    if (thin) {
      const height = Math.max(2, box.bottom - box.top);
      c.fillRect(
        box.left,
        (box.top + box.bottom - height) / 2,
        Math.max(1.5, box.right - box.left),
        height,
      );
      return;
    }
    const [before, after] = [boxes[i - 1], boxes[i + 1]];
    const [top, bottom] = [box.top + 0.5, box.bottom - 0.5];
    c.moveTo(box.left, top);
    c.lineTo(box.right, top);
    c.moveTo(box.left, bottom);
    c.lineTo(box.right, bottom);
    if (!before || before.right < box.left - 0.5) side(s, box.left + 0.5, top, bottom);
    if (!after || after.left > box.right + 0.5) side(s, box.right - 0.5, top, bottom);
    else {
      side(s, after.left, top, after.top + 0.5);
      side(s, after.left, bottom, after.bottom - 0.5);
    }
  });
  if (!thin) c.stroke();
}

function side(s: Surface, x: number, y0: number, y1: number): void {
  s.c.moveTo(x, y0);
  s.c.lineTo(x, y1);
}
