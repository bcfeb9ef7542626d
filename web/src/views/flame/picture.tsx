// The icicle: a canvas that keeps its place in a box that scrolls, so that stacks of thousands of
// frames need no canvas of thousands of rows.
import { useEffect } from "preact/hooks";
import { pickedFrame } from "../../state/answers/flame";
import { onKey } from "../../state/page/keys";
import { page } from "../../state/page/store";
import { useCellCanvas } from "./cell_canvas";
import { ROW } from "./draw";
import { flameKey } from "./keys";
import type { Cell } from "./layout";
import { focused, hovered, layers, look, pick, rootText, totalText, zoomTo } from "./model";
import { flameTip } from "./tip";

/** A press on a cell picks its frame; a second press on the same takes it back. */
function choose(cell: Cell | null, presses: number): void {
  focused.value = cell;
  const node = cell?.node;
  if (!node) return;
  if (presses > 1 || node.kind === "all") {
    zoomTo(node);
    return;
  }
  if (node.frame) pick(pickedFrame.peek() === node.frame.id ? null : node.frame.id);
}

export function FlamePicture() {
  const { box, canvas, paint, under, point, leave } = useCellCanvas({
    layers,
    look,
    hovered,
    focused,
    tip: flameTip,
  });
  useEffect(
    () =>
      onKey((event) => {
        const used = flameKey(event, box.current);
        if (used && canvas.current && event.key.startsWith("Arrow")) {
          canvas.current.focus({ preventScroll: true });
          showFocusTip(canvas.current, box.current);
        }
        return used;
      }),
    [],
  );
  const rows = layers.value?.rows ?? 1;
  return (
    <div class="flameplot" ref={box} onScroll={paint} style={{ "--rows": rows }}>
      <div class="flamesizer" style={{ height: `${rows * ROW + 2}px` }}>
        <canvas
          ref={canvas}
          id="flame"
          class="front"
          tabIndex={0}
          role="img"
          aria-label={`${page.value.sandwich === null ? "Icicle" : "Sandwich"} of what is ${rootText.value}, ${totalText.value}. Arrows go from frame to frame, Space picks one, Enter zooms.`}
          onPointerMove={point}
          onPointerLeave={leave}
          onClick={(event) => choose(under(event), event.detail)}
        />
      </div>
    </div>
  );
}

/** The tooltip follows the focus: under the left end of the cell. */
function showFocusTip(canvas: HTMLCanvasElement, box: HTMLElement | null): void {
  const cell = focused.peek();
  if (!cell) return;
  const place = canvas.getBoundingClientRect();
  const x = place.left + cell.from * place.width;
  const y = place.top + (cell.row + 1) * ROW - (box?.scrollTop ?? 0);
  flameTip.value = { cell, x, y };
}
