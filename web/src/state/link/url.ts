// The whole state of the page as text after the "#", and back. A link shows the same to everybody
// who opens it; of a damaged link the readable parts apply.
//
//   #timeline?file=0&dev=1&x=2450,3394&axis=step&colour=stack&sel=812&q=linear
import { LEGENDS, type LegendBy } from "../../api/contract";
import { ARENAS, type Arena } from "../../api/frag";
import { frozen } from "../../api/frozen";
import { STATE_SORTS, type StateSort } from "../../api/layout";
import { HUES, type Hue } from "../../api/map";
import { isEventGroup } from "./event_filter";
import { formatTerms, termOf } from "./filter_terms";
import {
  ALIGNMENTS,
  type Alignment,
  type Axis,
  DIFF_PICTURES,
  DIFF_ROWS,
  DIFF_WIDTHS,
  type DiffPicture,
  type DiffRows,
  type DiffWidth,
  FLAMES,
  type FlameOf,
  FRAME_KINDS,
  type FrameKinds,
  GROWTH_LISTS,
  type GrowthList,
  LANE_REFERENCES,
  LANE_SORTS,
  type LaneReference,
  type LaneSort,
  LIVE_SORTS,
  LIVE_WINDOWS,
  type LiveSort,
  type LiveWindow,
  type MarkSource,
  type PageState,
  type Range,
  type Sort,
  START,
  TABLES,
  type TableName,
} from "./page_state";

export * from "./page_state";

/** An exported page cannot search, filter or query: its links do not ask for it. */
export function withinFrozen(state: PageState): PageState {
  const frame = termOf(state.filter, "frame");
  const { q, sql, mark, only, sandwich, axis, frames, noise, hide, span } = START;
  const filter = frame && !frame.not ? formatTerms([frame]) : "";
  return { ...state, q, sql, mark, only, sandwich, axis, frames, noise, hide, span, filter };
}

const LONGEST_TEXT = 20_000;

function natural(text: string): number | null {
  if (!/^\d{1,15}$/.test(text)) return null;
  return Number(text);
}

/** bytes: of nothing it cannot be asked whether they fit */
function size(text: string): number | null {
  return natural(text) || null;
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

/** µs since the epoch */
function moment(text: string): number | null {
  return /^-?\d{1,16}$/.test(text) ? Number(text) : null;
}

function flag(text: string): true | null {
  return text === "1" ? true : null;
}

function number(value: number): string {
  return Number.isInteger(value) ? String(value) : String(Number(value.toFixed(3)));
}

const MAX_ZOOM = 2000;

function path(text: string): readonly number[] | null {
  const ids = text.split(".");
  return /^\d{1,10}(\.\d{1,10})*$/.test(text) && ids.length <= MAX_ZOOM ? ids.map(Number) : null;
}

/** "-block_bytes": largest first */
function sort(text: string): Sort | null {
  const found = /^(-?)([a-z][a-z0-9_]{0,60})$/.exec(text);
  return found ? { column: found[2] ?? "", down: found[1] === "-" } : null;
}

function oneOf<T extends string>(list: readonly T[]): (text: string) => T | null {
  return (text) => list.find((one) => one === text) ?? null;
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
  order: (text) => STATE_SORTS.find((by) => by === text) ?? null,
  flat: flag,
  scale: flag,
  seg: natural,
  act: (text) => (isEventGroup(text) ? text : null),
  ev: short,
  ay: range,
  hue: (text) => HUES.find((by) => by === text) ?? null,
  whole: flag,
  red: flag,
  only: flag,
  filter: short,
  flame: oneOf(FLAMES),
  span: range,
  frames: oneOf(FRAME_KINDS),
  noise: flag,
  hide: short,
  find: short,
  sandwich: natural,
  zoom: path,
  arena: oneOf(ARENAS),
  fit: size,
  set: short,
  conf: short,
  cap: size,
  table: oneOf(TABLES),
  growth: oneOf(GROWTH_LISTS),
  sort,
  rank: oneOf(LANE_SORTS),
  against: oneOf(LANE_REFERENCES),
  own: flag,
  align: oneOf(ALIGNMENTS),
  t: moment,
  vs: (text) => (/^\d{1,6}\/-?\d{1,6}$/.test(text) ? text : null),
  pa: short,
  pb: short,
  by: oneOf(DIFF_ROWS),
  width: oneOf(DIFF_WIDTHS),
  pic: oneOf(DIFF_PICTURES),
  row: short,
  way: path,
  proc: natural,
  win: oneOf(LIVE_WINDOWS),
  rates: oneOf(LIVE_SORTS),
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
    order: read<StateSort>("order") ?? START.order,
    flat: read<boolean>("flat") ?? START.flat,
    scale: read<boolean>("scale") ?? START.scale,
    seg: read<number>("seg"),
    act: read<string>("act") ?? START.act,
    ev: read<string>("ev") ?? START.ev,
    ay: read<Range>("ay"),
    hue: read<Hue>("hue") ?? START.hue,
    whole: read<boolean>("whole") ?? START.whole,
    red: read<boolean>("red") ?? START.red,
    filter: read<string>("filter") ?? START.filter,
    flame: read<FlameOf>("flame") ?? START.flame,
    span: read<Range>("span"),
    frames: read<FrameKinds>("frames") ?? START.frames,
    noise: read<boolean>("noise") ?? START.noise,
    hide: read<string>("hide") ?? START.hide,
    find: read<string>("find") ?? START.find,
    sandwich: read<number>("sandwich"),
    zoom: read<readonly number[]>("zoom") ?? START.zoom,
    arena: read<Arena>("arena") ?? START.arena,
    fit: read<number>("fit"),
    set: read<string>("set") ?? START.set,
    conf: read<string>("conf") ?? START.conf,
    cap: read<number>("cap"),
    table: read<TableName>("table") ?? START.table,
    growth: read<GrowthList>("growth") ?? START.growth,
    sort: read<Sort>("sort"),
    rank: read<LaneSort>("rank") ?? START.rank,
    against: read<LaneReference>("against"),
    own: read<boolean>("own") ?? START.own,
    align: read<Alignment>("align"),
    t: read<number>("t"),
    vs: read<string>("vs") ?? START.vs,
    pa: read<string>("pa") ?? START.pa,
    pb: read<string>("pb") ?? START.pb,
    by: read<DiffRows>("by") ?? START.by,
    width: read<DiffWidth>("width") ?? START.width,
    pic: read<DiffPicture>("pic") ?? START.pic,
    row: read<string>("row") ?? START.row,
    way: read<readonly number[]>("way") ?? START.way,
    proc: read<number>("proc"),
    win: read<LiveWindow>("win") ?? START.win,
    rates: read<LiveSort>("rates") ?? START.rates,
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

export function formatHash(wanted: PageState): string {
  const state = frozen === null ? wanted : withinFrozen(wanted);
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
  if (state.order !== START.order) query.set("order", state.order);
  if (state.flat) query.set("flat", "1");
  if (state.scale) query.set("scale", "1");
  if (state.seg !== null) query.set("seg", String(state.seg));
  if (state.act !== "") query.set("act", state.act);
  if (state.ev !== "") query.set("ev", state.ev);
  if (state.ay) query.set("ay", state.ay.map(number).join(","));
  if (state.hue !== START.hue) query.set("hue", state.hue);
  if (state.whole) query.set("whole", "1");
  if (state.red) query.set("red", "1");
  if (state.filter !== "") query.set("filter", state.filter);
  if (state.flame !== START.flame) query.set("flame", state.flame);
  if (state.span) query.set("span", state.span.map(number).join(","));
  if (state.frames !== START.frames) query.set("frames", state.frames);
  if (state.noise) query.set("noise", "1");
  if (state.hide !== "") query.set("hide", state.hide);
  if (state.find !== "") query.set("find", state.find);
  if (state.sandwich !== null) query.set("sandwich", String(state.sandwich));
  if (state.zoom.length > 0) query.set("zoom", state.zoom.join("."));
  if (state.arena !== START.arena) query.set("arena", state.arena);
  if (state.fit !== null) query.set("fit", String(state.fit));
  if (state.set !== "") query.set("set", state.set);
  if (state.conf !== "") query.set("conf", state.conf);
  if (state.cap !== null) query.set("cap", String(state.cap));
  if (state.table !== START.table) query.set("table", state.table);
  if (state.growth !== START.growth) query.set("growth", state.growth);
  if (state.sort) query.set("sort", `${state.sort.down ? "-" : ""}${state.sort.column}`);
  if (state.rank !== START.rank) query.set("rank", state.rank);
  if (state.against) query.set("against", state.against);
  if (state.own) query.set("own", "1");
  if (state.align) query.set("align", state.align);
  if (state.t !== null) query.set("t", String(state.t));
  if (state.vs !== "") query.set("vs", state.vs);
  if (state.pa !== START.pa) query.set("pa", state.pa);
  if (state.pb !== "") query.set("pb", state.pb);
  if (state.by !== START.by) query.set("by", state.by);
  if (state.width !== START.width) query.set("width", state.width);
  if (state.pic !== START.pic) query.set("pic", state.pic);
  if (state.row !== "") query.set("row", state.row);
  if (state.way.length > 0) query.set("way", state.way.join("."));
  if (state.proc !== null) query.set("proc", String(state.proc));
  if (state.win !== START.win) query.set("win", state.win);
  if (state.rates !== START.rates) query.set("rates", state.rates);
  const text = query.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
  return text === "" ? `#${state.view}` : `#${state.view}?${text}`;
}
