// Cells on a Canvas 2D: tints under ink text, by the rules of the guide, section 7.
import { type FlameNode, grossBytes, netBytes } from "../../api/flame";
import { css, mix, parseHex, type Rgb } from "../../gl/colours";
import { bytesText, integer, percent } from "../../text/units";
import { visible } from "../../text/visible";
import { font, hatch, label, type Surface } from "../../ui/plot";
import type { Cell, Layers } from "./layout";

export const ROW = 26;
const CELL = 25;
const TINT = 0.34;
const FAINT_TINT = 0.12;
/** of two recordings: less change than this share is none */
const MIN_CHANGE = 0.02;
const TEXT_FROM = 28;
const SIZE_FROM = 150;

export interface Look {
  /** by index of the node; of the callees and the callers alike */
  slots: ReadonlyMap<FlameNode, number | null>;
  /** what the filter keeps; null: everything */
  kept: ReadonlySet<FlameNode> | null;
  found: ReadonlySet<FlameNode> | null;
  /** the frame that was picked */
  picked: number | null;
  /** the root is the frame of a sandwich, not everything */
  sandwich: boolean;
  difference: boolean;
  /** of two recordings: the more of a cell changed, the stronger its colour */
  compared?: boolean;
  totalBytes: number;
  rootText: string;
}

/** Name of a cell in letters, and its place. */
export function cellName(node: FlameNode, rootText: string): { name: string; place: string } {
  if (node.kind === "all") return { name: rootText, place: "" };
  if (node.kind === "no_stack") return { name: "no stack recorded", place: "" };
  if (node.kind === "other") {
    return { name: `${integer(node.merged)} smaller`, place: "" };
  }
  const parts = /^(\S+:\d+) (.*)$/s.exec(node.frame?.label ?? "");
  return parts
    ? { name: visible(parts[2] ?? ""), place: visible(parts[1] ?? "") }
    : { name: visible(node.frame?.label ?? ""), place: "" };
}

export function cellBytes(node: FlameNode, difference: boolean): string {
  if (!difference) return bytesText(node.bytes);
  const net = netBytes(node);
  if (net === 0) return "0";
  return `${net > 0 ? "+" : ""}${bytesText(net)}`;
}

interface Fill {
  colour: Rgb;
  hatched: boolean;
  ink: string;
}

function fillOf(s: Surface, node: FlameNode, look: Look): Fill {
  const surface = parseHex(s.token("surface"));
  const ink = s.token("ink");
  if (look.kept && !look.kept.has(node)) {
    return { colour: parseHex(s.token("grid")), hatched: false, ink: s.token("ink-3") };
  }
  const lost = look.found !== null && !look.found.has(node);
  const share = lost ? FAINT_TINT : TINT;
  const plain = { colour: parseHex(s.token(lost ? "hover" : "press")), hatched: false, ink };
  if (node.kind === "no_stack" || node.kind === "other") {
    const colour = mix(parseHex(s.token("cat-9")), surface, 0.16);
    return { colour, hatched: true, ink };
  }
  if (look.difference) {
    const net = netBytes(node);
    const changed = Math.abs(net) / Math.max(1, grossBytes(node));
    if (look.compared && changed < MIN_CHANGE) {
      return { ...plain, colour: parseHex(s.token("same")) };
    }
    if (net === 0 || (node.kind === "all" && !look.compared)) return plain;
    const token = net > 0 ? "more-2" : "less-2";
    const strength = look.compared ? share * (0.6 + changed) : share;
    return { colour: mix(parseHex(s.token(token)), surface, strength), hatched: false, ink };
  }
  const slot = look.slots.get(node) ?? null;
  if (slot === null || slot === 0 || node.kind === "all") return plain;
  const colour = mix(parseHex(s.token(`cat-${slot}`)), surface, slot === 9 ? share / 2 : share);
  return { colour, hatched: slot === 9, ink };
}

/** Widths of texts: the same names come back at every frame. */
const widths = new Map<string, number>();
function widthOf(s: Surface, text: string): number {
  const key = `${s.c.font}\n${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > 20_000) widths.clear();
    width = s.c.measureText(text).width;
    widths.set(key, width);
  }
  return width;
}

/** The first that fits: the name, class and line, the class, some letters, nothing. */
export function fitting(
  name: string,
  place: string,
  room: number,
  width: (text: string) => number,
): string {
  if (width(name) <= room) return name;
  const line = /:\d+$/.exec(place)?.[0] ?? "";
  const dot = name.indexOf(".");
  const owner = dot > 0 ? name.slice(0, dot) : "";
  if (owner !== "") {
    if (line !== "" && width(`${owner} ${line}`) <= room) return `${owner} ${line}`;
    if (width(owner) <= room) return owner;
  }
  const from = owner === "" ? name : owner;
  // halving: names of templates have thousands of letters
  let [low, high] = [0, Math.min(from.length, 400)];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (width(`${from.slice(0, middle)}…`) <= room) low = middle;
    else high = middle - 1;
  }
  return low >= 4 ? `${from.slice(0, low)}…` : "";
}

function mono(s: Surface): void {
  s.c.font = `400 11px ${s.token("font-mono")}`;
}

function drawText(s: Surface, cell: Cell, look: Look, box: Box, ink: string): void {
  const { node } = cell;
  const middle = box.y + CELL / 2 + 0.5;
  let room = box.width - 14;
  const sized = box.width >= SIZE_FROM;
  const size = cellBytes(node, look.difference);
  const share = percent(grossBytes(node) / Math.max(1, look.totalBytes));
  if (sized) {
    font(s, 11, 500);
    const sizeWidth = widthOf(s, size);
    // of a difference, the width is no share of the number beside it
    const sharePixels = box.width >= SIZE_FROM + 60 && !look.difference ? 56 : 0;
    if (sharePixels > 0) {
      font(s);
      label(s, share, box.x + box.width - 8, middle, { align: "right", colour: s.token("ink-2") });
    }
    font(s, 11, 500);
    label(s, size, box.x + box.width - 8 - sharePixels, middle, { align: "right", colour: ink });
    room -= sizeWidth + sharePixels + 10;
  }
  mono(s);
  const { name, place } = cellName(node, look.rootText);
  const shown = fitting(name, place, room, (text) => widthOf(s, text));
  if (shown === "") return;
  label(s, shown, box.x + 7, middle, { colour: ink });
  if (shown !== name || place === "") return;
  const used = widthOf(s, `${name}  `);
  if (widthOf(s, place) < room - used) {
    label(s, place, box.x + 7 + used, middle, { colour: s.token("ink-2") });
  }
}

interface Box {
  x: number;
  y: number;
  width: number;
}

export interface Marks {
  /** the cell that the keyboard or the pointer is at */
  hover: Cell | null;
  focus: Cell | null;
}

/** Draws the rows that are in view; `top` is how far the picture is scrolled. */
export function drawCells(s: Surface, layers: Layers, look: Look, marks: Marks, top: number): void {
  const [first, last] = [Math.floor(top / ROW), Math.ceil((top + s.height) / ROW)];
  const outlined: Box[] = [];
  for (const cell of layers.cells) {
    if (cell.row < first || cell.row > last) continue;
    const x = Math.round(cell.from * s.width);
    const width = Math.max(1, Math.round(cell.to * s.width) - x - 1);
    const box = { x, y: cell.row * ROW - top, width };
    const fill = fillOf(s, cell.node, look);
    s.c.fillStyle = css(fill.colour);
    s.c.fillRect(box.x, box.y, box.width, CELL);
    if (fill.hatched && width > 3) {
      s.c.fillStyle = hatch(s.c, s.token("hatch"));
      s.c.fillRect(box.x, box.y, box.width, CELL);
    }
    if (look.found?.has(cell.node)) {
      s.c.fillStyle = s.token("accent");
      s.c.fillRect(box.x, box.y + CELL - 2, box.width, 2);
    }
    if (cell === marks.hover) {
      s.c.fillStyle = s.token("seam");
      s.c.fillRect(box.x, box.y, box.width, CELL);
    }
    const picked = look.picked !== null && cell.node.frame?.id === look.picked;
    const middle = look.sandwich && cell.node.kind === "all";
    if (picked || middle || cell === marks.focus) outlined.push(box);
    if (width >= TEXT_FROM) drawText(s, cell, look, box, fill.ink);
  }
  s.c.strokeStyle = s.token("outline");
  s.c.lineWidth = 1.5;
  for (const box of outlined) {
    if (box.width < 4) {
      s.c.fillStyle = s.token("outline");
      s.c.fillRect(box.x, box.y, box.width, CELL);
    } else s.c.strokeRect(box.x + 0.75, box.y + 0.75, box.width - 1.5, CELL - 1.5);
  }
}
