// The whole state of the page as text after the "#", and back. A link that was sent to somebody
// shows the same thing; a link that was mangled shows as much as can be understood.
//
//   #timeline?file=0&dev=1&x=2450,3394&axis=step&colour=stack&sel=812&q=linear
import { LEGENDS, type LegendBy } from "../api/contract";
import { STATE_SORTS, type StateSort } from "../api/layout";
import { HUES, type Hue } from "../api/map";
import { isEventGroup } from "./event_filter";

export type Axis = "step" | "time";
export type Range = readonly [number, number];
export type MarkSource = "search" | "sql";

export interface PageState {
  view: string;
  file: number;
  /** ordinal of the device; null: the file's busiest */
  device: number | null;
  axis: Axis;
  /** visible range of the axis; null: everything */
  x: Range | null;
  /** visible range of bytes; null: fitted to what is visible */
  y: Range | null;
  colour: LegendBy;
  /** the step of the cursor; null: the worst out-of-memory, else the peak */
  at: number | null;
  /** id of the selected allocation */
  sel: number | null;
  q: string;
  sql: string;
  /** which of the two is marked in the pictures */
  mark: MarkSource | null;
  /** show the marked ones only */
  only: boolean;
  /** State: how the segments are sorted, whether in groups, and drawn in one scale */
  sort: StateSort;
  flat: boolean;
  scale: boolean;
  /** id of the selected segment */
  seg: number | null;
  /** filter over the events: a group of actions, and words */
  act: string;
  ev: string;
  /** Map: visible range of the axis of addresses; null: everything */
  ay: Range | null;
  /** Map: what the colours mean */
  hue: Hue;
  /** Map: the whole span of addresses instead of what was owned */
  span: boolean;
  /** Map: what was live at an out-of-memory stands out */
  red: boolean;
}

export const START: PageState = {
  view: "overview",
  file: 0,
  device: null,
  axis: "step",
  x: null,
  y: null,
  colour: "stack",
  at: null,
  sel: null,
  q: "",
  sql: "",
  mark: null,
  only: false,
  sort: "waste",
  flat: false,
  scale: false,
  seg: null,
  act: "",
  ev: "",
  ay: null,
  hue: "size",
  span: false,
  red: false,
};

const LONGEST_TEXT = 20_000;

function natural(text: string): number | null {
  if (!/^\d{1,15}$/.test(text)) return null;
  return Number(text);
}

function ordinal(text: string): number | null {
  if (!/^-?\d{1,6}$/.test(text)) return null;
  return Number(text);
}

function short(text: string): string | null {
  return text.length > LONGEST_TEXT ? null : text;
}

function range(text: string): Range | null {
  const [low, high, ...rest] = text
    .split(",")
    .map((part) => (part === "" ? Number.NaN : Number(part)));
  if (low === undefined || high === undefined || rest.length > 0) return null;
  if (!Number.isFinite(low) || !Number.isFinite(high) || high <= low) return null;
  return [low, high];
}

function flag(text: string): true | null {
  return text === "1" ? true : null;
}

function number(value: number): string {
  return Number.isInteger(value) ? String(value) : String(Number(value.toFixed(3)));
}

/** How each parameter is read; null: not understood. */
const READERS: Record<string, (text: string) => unknown> = {
  file: natural,
  dev: ordinal,
  axis: (text) => (text === "step" || text === "time" ? text : null),
  x: range,
  y: range,
  colour: (text) => LEGENDS.find((by) => by === text) ?? null,
  at: natural,
  sel: natural,
  q: short,
  sql: short,
  mark: (text) => (text === "search" || text === "sql" ? text : null),
  only: flag,
  sort: (text) => STATE_SORTS.find((by) => by === text) ?? null,
  flat: flag,
  scale: flag,
  seg: natural,
  act: (text) => (isEventGroup(text) ? text : null),
  ev: short,
  ay: range,
  hue: (text) => HUES.find((by) => by === text) ?? null,
  span: flag,
  red: flag,
};

function split(hash: string): [string, URLSearchParams] {
  const text = hash.startsWith("#") ? hash.slice(1) : hash;
  const cut = text.indexOf("?");
  const name = cut < 0 ? text : text.slice(0, cut);
  return [name, new URLSearchParams(cut < 0 ? "" : text.slice(cut + 1))];
}

export function parseHash(hash: string, views: readonly string[]): PageState {
  const [name, query] = split(hash);
  const read = <T>(key: string): T | null => {
    const text = query.get(key);
    return text === null ? null : ((READERS[key]?.(text) ?? null) as T | null);
  };
  return {
    view: views.includes(name) ? name : START.view,
    file: read<number>("file") ?? START.file,
    device: read<number>("dev"),
    axis: read<Axis>("axis") ?? START.axis,
    x: read<Range>("x"),
    y: read<Range>("y"),
    colour: read<LegendBy>("colour") ?? START.colour,
    at: read<number>("at"),
    sel: read<number>("sel"),
    q: (query.get("q") ?? "").slice(0, LONGEST_TEXT),
    sql: (query.get("sql") ?? "").slice(0, LONGEST_TEXT),
    mark: read<MarkSource>("mark"),
    only: read<boolean>("only") ?? START.only,
    sort: read<StateSort>("sort") ?? START.sort,
    flat: read<boolean>("flat") ?? START.flat,
    scale: read<boolean>("scale") ?? START.scale,
    seg: read<number>("seg"),
    act: read<string>("act") ?? START.act,
    ev: read<string>("ev") ?? START.ev,
    ay: read<Range>("ay"),
    hue: read<Hue>("hue") ?? START.hue,
    span: read<boolean>("span") ?? START.span,
    red: read<boolean>("red") ?? START.red,
  };
}

/** What of a link was not understood, as it stands there: `x=9,3`, or the name of no view. */
export function unreadable(hash: string, views: readonly string[]): string[] {
  const [name, query] = split(hash);
  const out = name === "" || views.includes(name) ? [] : [`#${name}`];
  for (const [key, text] of query) {
    const reader = Object.hasOwn(READERS, key) ? READERS[key] : undefined;
    if (key === "" && text === "") continue;
    if (reader === undefined || reader(text) === null) out.push(`${key}=${text}`);
  }
  return out;
}

export function formatHash(state: PageState): string {
  const query = new URLSearchParams();
  if (state.file !== START.file) query.set("file", String(state.file));
  if (state.device !== null) query.set("dev", String(state.device));
  if (state.axis !== START.axis) query.set("axis", state.axis);
  if (state.x) query.set("x", state.x.map(number).join(","));
  if (state.y) query.set("y", state.y.map(number).join(","));
  if (state.colour !== START.colour) query.set("colour", state.colour);
  if (state.at !== null) query.set("at", String(state.at));
  if (state.sel !== null) query.set("sel", String(state.sel));
  if (state.q !== "") query.set("q", state.q);
  if (state.sql !== "") query.set("sql", state.sql);
  if (state.mark !== null) query.set("mark", state.mark);
  if (state.only) query.set("only", "1");
  if (state.sort !== START.sort) query.set("sort", state.sort);
  if (state.flat) query.set("flat", "1");
  if (state.scale) query.set("scale", "1");
  if (state.seg !== null) query.set("seg", String(state.seg));
  if (state.act !== "") query.set("act", state.act);
  if (state.ev !== "") query.set("ev", state.ev);
  if (state.ay) query.set("ay", state.ay.map(number).join(","));
  if (state.hue !== START.hue) query.set("hue", state.hue);
  if (state.span) query.set("span", "1");
  if (state.red) query.set("red", "1");
  const text = query.toString().replaceAll("%2C", ",");
  return text === "" ? `#${state.view}` : `#${state.view}?${text}`;
}
