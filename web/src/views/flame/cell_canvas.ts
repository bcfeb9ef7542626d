// A canvas of flame cells that keeps its place in a box that scrolls: painted when what it shows
// changes, and which cell lies under the pointer. For the flame graph and the differential one.
import { type ReadonlySignal, type Signal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { theme } from "../../state/page/theme";
import { surface, Tokens } from "../../ui/plot";
import { drawCells, type Look, ROW } from "./draw";
import { type Cell, cellAt, cellOf, type Layers } from "./layout";

export interface CellTip {
  cell: Cell;
  x: number;
  y: number;
}

interface CellSignals {
  layers: ReadonlySignal<Layers | null>;
  look: ReadonlySignal<Look | null>;
  hovered: Signal<Cell | null>;
  focused: Signal<Cell | null>;
  tip: Signal<CellTip | null>;
}

export function useCellCanvas({ layers, look, hovered, focused, tip }: CellSignals) {
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
  // Another picture: the cell under the pointer no longer exists; but this runs a frame later or
  // more, and a key may have found a cell of the new one by then.
  useSignalEffect(() => {
    const now = layers.value;
    hovered.value = cellOf(now, hovered.peek());
    focused.value = cellOf(now, focused.peek());
    if (!cellOf(now, tip.peek()?.cell ?? null)) tip.value = null;
  });
  useEffect(() => {
    const observer = new ResizeObserver(paint);
    if (box.current) observer.observe(box.current);
    return () => {
      observer.disconnect();
      cancelAnimationFrame(ticket.current);
      hovered.value = null;
      focused.value = null;
      tip.value = null;
    };
  }, []);

  const under = (event: PointerEvent | MouseEvent): Cell | null => {
    const of = layers.peek();
    const place = canvas.current?.getBoundingClientRect();
    if (!of || !place || place.width === 0) return null;
    const row = Math.floor((event.clientY - place.top + (box.current?.scrollTop ?? 0)) / ROW);
    return cellAt(of, row, (event.clientX - place.left) / place.width);
  };
  const point = (event: PointerEvent) => {
    const cell = under(event);
    hovered.value = cell;
    tip.value = cell && { cell, x: event.clientX, y: event.clientY };
  };
  const leave = () => {
    hovered.value = null;
    tip.value = null;
  };
  return { box, canvas, paint, under, point, leave };
}
