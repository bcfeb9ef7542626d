// A page that `tidegauge export` wrote: the same page, with answers inside instead of a server.
// `frozen` is null where there is a server.
import { AnswerBook } from "./answer_book";

export interface FrozenDevice {
  ordinal: number;
  /** steps that the page is about, both included */
  from: number;
  to: number;
  /** these are all steps */
  whole: boolean;
  /** tiles of these levels are in the page: a column of level L is 2^L steps */
  coarsest_level: number;
  finest_level: number;
  /** log2 of the bytes per pixel row, the same at every level */
  row_level: number;
  /** number of blocks with details, and of blocks that are drawn */
  allocations: number;
  allocations_drawn: number;
}

export interface Frozen {
  version: string;
  /** "2026-11-21" */
  written: string;
  devices: FrozenDevice[];
}

export const OPEN_HINT = "Open the recording with tidegauge view to see it.";

function readHead(): Frozen | null {
  const text = globalThis.document?.getElementById("tgpage")?.textContent;
  if (!text) return null;
  const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes)) as Frozen;
}

export const frozen: Frozen | null = readHead();

export function frozenDevice(ordinal: number | undefined): FrozenDevice | null {
  return frozen?.devices.find((one) => one.ordinal === ordinal) ?? null;
}

let opened: AnswerBook | null = null;

function book(): AnswerBook {
  if (opened === null) {
    const blocks = document.querySelectorAll("script.tgblock");
    opened = new AnswerBook(blocks.length, (index) => blocks[index]?.textContent ?? "");
  }
  return opened;
}

/** What went wrong, in two sentences; see ApiError. */
export interface Refusal {
  what: string;
  hint: string;
}

export function refusalOf(path: string, devices: readonly FrozenDevice[]): Refusal {
  if (path !== "allocation")
    return { what: "An exported page cannot answer this.", hint: OPEN_HINT };
  return {
    what: "This page contains no details of this block.",
    hint: `${whyNoDetails(devices)} ${OPEN_HINT}`,
  };
}

/** The question does not name the device of the block: the answer covers each device. */
function whyNoDetails(devices: readonly FrozenDevice[]): string {
  const partial = devices.filter((one) => one.allocations < one.allocations_drawn);
  if (partial.length === 0) return "Small blocks that are drawn together have no details.";
  const text = (value: number) => value.toLocaleString("en-US");
  const [one] = partial;
  if (one && devices.length === 1) {
    const [count, of] = [text(one.allocations), text(one.allocations_drawn)];
    return `Only the ${count} largest of the ${of} blocks in the picture have details.`;
  }
  const each = partial.map(
    ({ ordinal, allocations, allocations_drawn: drawn }) =>
      `${text(allocations)} of ${text(drawn)} on device ${ordinal}`,
  );
  return `Only the largest blocks in the picture have details: ${each.join(", ")}.`;
}

/** The body of an answer, or why there is none. */
export async function frozenAnswer(url: string): Promise<Uint8Array<ArrayBuffer> | Refusal> {
  if (typeof DecompressionStream === "undefined") {
    return {
      what: "This browser cannot unpack the page.",
      hint: "Use Chromium 80, Firefox 113, Safari 16.4 or newer.",
    };
  }
  try {
    const body = await book().find(url);
    if (body !== null) return body;
  } catch {
    return {
      what: "The data in this page are damaged.",
      hint: "The file may be truncated: get a new copy.",
    };
  }
  const path = url.replace(/^api\//, "").split("?")[0] ?? "";
  return refusalOf(path, frozen?.devices ?? []);
}

/** The nearest tile at or above an address that is in the page. */
export function frozenTile(of: FrozenDevice, level: number, index: number, columns: number) {
  let at = { level, index };
  if (level < of.finest_level) {
    at = { level: of.finest_level, index: Math.floor(index / 2 ** (of.finest_level - level)) };
  }
  for (; at.level < of.coarsest_level; at = { level: at.level + 1, index: at.index >> 1 }) {
    const span = columns * 2 ** at.level;
    if (at.index >= Math.floor(of.from / span) && at.index <= Math.floor(of.to / span)) break;
  }
  return at;
}
