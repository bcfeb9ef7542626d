// One segment as a bar: blocks in their colours, free parts as empty boxes, what rounding wastes as
// ink at the end of a block, many small parts as one part filled to its live share.
import { PartFlag, PartKind, type Parts } from "../../api/layout";
import { css, mix, olderColour, parseHex } from "../../gl/colours";
import { hatch, type Surface } from "../../ui/plot";

export interface Bar {
  parts: Parts;
  begin: number;
  end: number;
  /** bytes over the whole width */
  bytes: number;
  byCategory: boolean;
  selected: number | null;
  marked: boolean;
  dark: boolean;
}

export function drawBar(s: Surface, bar: Bar): void {
  const scale = s.width / Math.max(1, bar.bytes);
  for (let index = bar.begin; index < bar.end; index += 1) {
    const left = (bar.parts.offset[index] ?? 0) * scale;
    const width = (bar.parts.bytes[index] ?? 0) * scale;
    drawPart(s, bar, index, left, width);
  }
  if (bar.selected === null) return;
  const chosen = bar.parts.allocation.indexOf(bar.selected, bar.begin);
  if (chosen < 0 || chosen >= bar.end || bar.parts.kind[chosen] === PartKind.merged) return;
  s.c.strokeStyle = s.token("outline");
  s.c.lineWidth = 1.5;
  const left = (bar.parts.offset[chosen] ?? 0) * scale;
  const width = Math.max(4, (bar.parts.bytes[chosen] ?? 0) * scale);
  s.c.strokeRect(left + 0.75, 0.75, width - 1.5, s.height - 1.5);
}

function drawPart(s: Surface, bar: Bar, index: number, left: number, width: number): void {
  const { c } = s;
  switch (bar.parts.kind[index]) {
    case PartKind.free:
      drawFree(s, left, width);
      return;
    case PartKind.unmapped:
      c.fillStyle = s.token("line-2");
      c.fillRect(left, s.height / 2 - 0.5, Math.max(1, width - 1), 1);
      return;
    case PartKind.merged: {
      const share = (bar.parts.live_bytes[index] ?? 0) / Math.max(1, bar.parts.bytes[index] ?? 1);
      drawFree(s, left, width);
      c.fillStyle = colourOf(s, bar, index);
      const height = share <= 0 ? 0 : Math.max(1, Math.round(share * s.height));
      c.fillRect(left, s.height - height, Math.max(0.5, width), height);
      return;
    }
    default:
      drawBlock(s, bar, index, left, width);
  }
}

function drawFree(s: Surface, left: number, width: number): void {
  const { c } = s;
  c.fillStyle = s.token("surface-2");
  c.fillRect(left, 0, width, s.height);
  if (width < 1.5) return;
  c.strokeStyle = s.token("line-3");
  c.lineWidth = 1;
  c.strokeRect(left + 0.5, 0.5, Math.max(0.5, width - 2), s.height - 1);
}

function drawBlock(s: Surface, bar: Bar, index: number, left: number, width: number): void {
  const { c } = s;
  const flags = bar.parts.flags[index] ?? 0;
  // a seam between blocks that are wide enough to have one
  const wide = Math.max(0.5, width - (width > 3 ? 1 : 0));
  c.fillStyle = colourOf(s, bar, index);
  c.fillRect(left, 0, wide, s.height);
  if ((flags & PartFlag.filtered) !== 0) return;
  if ((bar.parts.provenance[index] ?? 0) !== 0) {
    c.fillStyle = hatch(c, s.token("hatch"));
    c.fillRect(left, 0, wide, s.height);
  }
  if (bar.parts.kind[index] === PartKind.pending) {
    c.fillStyle = s.token("surface");
    for (let y = 2; y < s.height; y += 4) c.fillRect(left, y, wide, 2);
  }
  const loss = ((bar.parts.rounding_bytes[index] ?? 0) / (bar.parts.bytes[index] || 1)) * width;
  if (loss >= 0.8) {
    c.fillStyle = s.token("ink");
    c.fillRect(left + wide - loss, 0, loss, s.height);
  }
}

function colourOf(s: Surface, bar: Bar, index: number): string {
  const flags = bar.parts.flags[index] ?? 0;
  if ((flags & PartFlag.filtered) !== 0) return s.token("grid");
  if ((bar.parts.provenance[index] ?? 0) !== 0) return css(olderColour(s.token, bar.dark));
  const slots = bar.byCategory ? bar.parts.category_slot : bar.parts.stack_slot;
  const slot = slots[index] ?? 0;
  const plain = slot >= 1 && slot <= 9 ? s.token(`cat-${slot}`) : s.token("ink-3");
  if (!bar.marked || (flags & PartFlag.marked) !== 0) return plain;
  return css(mix(parseHex(plain), parseHex(s.token("grid")), 0.28));
}
