// Where the cells of an icicle lie. Widths are shares of the picture, so that a resize needs no new
// layout; a node that fills the width has its ancestors above it, as wide as itself.
//
//   all                                       zoomed to B:   all
//   A                    │ C                                 A
//   B          │ D       │                                   B
//   x     │ y  │                                             x            │ y
import { type FlameNode, type FlameTree, grossBytes } from "../../api/flame";

export interface Cell {
  node: FlameNode;
  row: number;
  /** shares of the width, 0…1 */
  from: number;
  to: number;
}

/** Cells of at least `least` of the width, row by row from the outside. */
function icicleCells(zoomed: FlameNode, least = 0.0004): Cell[] {
  const cells: Cell[] = [];
  for (let at = zoomed.parent; at !== null; at = at.parent) {
    cells.unshift({ node: at, row: at.depth, from: 0, to: 1 });
  }
  const open: Cell[] = [{ node: zoomed, row: zoomed.depth, from: 0, to: 1 }];
  while (open.length > 0) {
    const cell = open.pop() as Cell;
    cells.push(cell);
    const whole = grossBytes(cell.node);
    if (whole <= 0) continue;
    const width = cell.to - cell.from;
    let from = cell.from;
    const below: Cell[] = [];
    for (const child of cell.node.children) {
      const to = from + (grossBytes(child) / whole) * width;
      if (to - from >= least) below.push({ node: child, row: cell.row + 1, from, to });
      from = to;
    }
    open.push(...below.reverse());
  }
  return cells;
}

export interface Layers {
  cells: Cell[];
  rows: number;
}

export function icicle(zoomed: FlameNode): Layers {
  const cells = icicleCells(zoomed);
  return { cells, rows: cells.reduce((most, cell) => Math.max(most, cell.row + 1), 1) };
}

/** Callers above, outermost on top; callees below; the frame itself once, between them. */
export function sandwich(callers: FlameTree, callees: FlameTree): Layers {
  const above = icicleCells(callers.root);
  const below = icicleCells(callees.root);
  const middle = above.reduce((most, cell) => Math.max(most, cell.row), 0);
  const cells = [
    ...above.filter((cell) => cell.row > 0).map((cell) => ({ ...cell, row: middle - cell.row })),
    ...below.map((cell) => ({ ...cell, row: middle + cell.row })),
  ];
  return { cells, rows: cells.reduce((most, cell) => Math.max(most, cell.row + 1), 1) };
}

export function cellAt(layers: Layers, row: number, share: number): Cell | null {
  return (
    layers.cells.find((cell) => cell.row === row && share >= cell.from && share < cell.to) ?? null
  );
}

export type Direction = "left" | "right" | "up" | "down";

/** The next cell for an arrow key: rows by the middle of a cell, in a row by order. */
function neighbourOf(layers: Layers, cell: Cell, direction: Direction): Cell | null {
  if (direction === "left" || direction === "right") {
    const row = layers.cells.filter((one) => one.row === cell.row).sort((a, b) => a.from - b.from);
    return row[row.indexOf(cell) + (direction === "right" ? 1 : -1)] ?? null;
  }
  const rows = layers.cells.filter((one) => one.row === cell.row + (direction === "down" ? 1 : -1));
  const over = (one: Cell) => Math.min(one.to, cell.to) - Math.max(one.from, cell.from);
  const touching = rows.filter((one) => over(one) > 0);
  // the widest of those that touch; of equals the first
  return touching.reduce<Cell | null>(
    (best, one) => (best === null || one.to - one.from > best.to - best.from ? one : best),
    null,
  );
}

/** `cell`, if it is one of this picture and not of one that was there before. */
export function cellOf(layers: Layers | null, cell: Cell | null): Cell | null {
  return cell !== null && layers?.cells.includes(cell) ? cell : null;
}

/** Where an arrow key leads: to the first cell from none; at an edge it stays. */
export function stepFrom(layers: Layers, cell: Cell | null, direction: Direction): Cell | null {
  const from = cellOf(layers, cell);
  return (from === null ? layers.cells[0] : neighbourOf(layers, from, direction)) ?? from;
}
