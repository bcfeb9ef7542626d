// The icicle: a canvas that stands still in a box that scrolls, so that stacks of thousands of
// frames need no canvas of thousands of rows.
import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { pickedFrame } from "../../state/flame";
import { onKey } from "../../state/keys";
import { page } from "../../state/store";
import { theme } from "../../state/theme";
import { surface, Tokens } from "../../ui/plot";
import { drawCells, ROW } from "./draw";
import { flameKey } from "./keys";
import { type Cell, cellAt } from "./layout";
import { focused, hovered, layers, look, pick, rootText, totalText, zoomTo } from "./model";
import { flameTip } from "./tip";

function cellUnder(event: PointerEvent | MouseEvent, canvas: HTMLCanvasElement, top: number) {
  const now = layers.peek();
  const box = canvas.getBoundingClientRect();
  if (!now || box.width === 0) return null;
  const row = Math.floor((event.clientY - box.top + top) / ROW);
  return cellAt(now, row, (event.clientX - box.left) / box.width);
}

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
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const tokens = useRef(new Tokens());
  const ticket = useRef(0);

  const paint = () => {
    cancelAnimationFrame(ticket.current);
    ticket.current = requestAnimationFrame(() => {
      const [of, how] = [layers.peek(), look.peek()];
      const s = canvas.current && surface(canvas.current, tokens.current);
      if (!s || !of || !how) return;
      const marks = { hover: hovered.peek(), focus: focused.peek() };
      drawCells(s, of, how, marks, box.current?.scrollTop ?? 0);
    });
  };

  useSignalEffect(() => {
    void [layers.value, look.value, hovered.value, focused.value];
    paint();
  });
  useSignalEffect(() => {
    void theme.value;
    tokens.current = new Tokens();
    paint();
  });
  // another picture: what was pointed at is gone
  useSignalEffect(() => {
    void layers.value;
    hovered.value = null;
    focused.value = null;
    flameTip.value = null;
  });
  useEffect(() => {
    const el = box.current;
    const observer = new ResizeObserver(paint);
    if (el) observer.observe(el);
    const offKeys = onKey((event) => {
      const used = flameKey(event, el);
      if (used && canvas.current && event.key.startsWith("Arrow")) {
        canvas.current.focus({ preventScroll: true });
        showFocusTip(canvas.current, el);
      }
      return used;
    });
    return () => {
      offKeys();
      observer.disconnect();
      cancelAnimationFrame(ticket.current);
      flameTip.value = null;
    };
  }, []);

  const point = (event: PointerEvent) => {
    if (!canvas.current) return;
    const cell = cellUnder(event, canvas.current, box.current?.scrollTop ?? 0);
    hovered.value = cell;
    flameTip.value = cell && { cell, x: event.clientX, y: event.clientY };
  };
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
          onPointerLeave={() => {
            hovered.value = null;
            flameTip.value = null;
          }}
          onClick={(event) => {
            if (!canvas.current) return;
            choose(cellUnder(event, canvas.current, box.current?.scrollTop ?? 0), event.detail);
          }}
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
