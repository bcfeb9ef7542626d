// What the page knows, as signals. The hash of the URL is the truth for everything that a link
// must carry; this file keeps the two in step. Answers of the server live beside it.
import { batch, computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import { type ApiError, asApiError, getJson, isAbort, showGenerations } from "../../api/client";
import type { DeviceInfo, FileInfo, Overview, Session } from "../../api/contract";
import { frozen, frozenDevice } from "../../api/frozen";
import { withoutFileTerms } from "../link/filter_terms";
import {
  formatHash,
  type PageState,
  parseHash,
  type Range,
  START,
  unreadable,
  withinFrozen,
} from "../link/url";
import { checkLink, NOWHERE } from "./link_check";
import { notes } from "./notes";

export const session = signal<Session | null>(null);
export const sessionError = signal<ApiError | null>(null);
export const page = signal<PageState>(START);
/** inspector: null = as the view likes it; the keyboard and the button decide otherwise */
export const inspectorOpen = signal<boolean | null>(null);
export const helpOpen = signal(false);
/** what the pointer or the keyboard is at, for the status bar and the legend */
export const hoverStep = signal<{ step: number; time_us: number | null } | null>(null);
/** the right end of the status bar: how the picture is drawn */
export const drawnBy = signal("");
export const tileMs = signal<number | null>(null);
/** what a column and the lowest block of the picture stand for */
export const resolution = signal<{ steps: number; bytes: number } | null>(null);

export const file = computed<FileInfo | null>(() => {
  const files = session.value?.files ?? [];
  return files.find((one) => one.id === page.value.file) ?? files[0] ?? null;
});

export const device = computed<DeviceInfo | null>(() =>
  file.value ? deviceOf(file.value, page.value) : null,
);

function deviceOf(of: FileInfo, state: PageState): DeviceInfo | null {
  return of.devices.find((one) => one.ordinal === state.device) ?? startDevice(of.devices);
}

/** The device to show first: one that ran out of memory, else the one with the longest trace. */
export function startDevice(devices: readonly DeviceInfo[]): DeviceInfo | null {
  const rank = (one: DeviceInfo) => [
    one.ooms.length > 0 ? 1 : 0,
    one.events,
    one.peak.active.bytes,
  ];
  let best: DeviceInfo | null = null;
  for (const one of devices) {
    if (best === null) best = one;
    const [a, b] = [rank(one), rank(best)];
    const differs = a.findIndex((value, i) => value !== b[i]);
    if (differs >= 0 && (a[differs] ?? 0) > (b[differs] ?? 0)) best = one;
  }
  return best;
}

/** "file=0&device=1" of every question, or null while there is no file. */
export const place = computed(() => {
  if (!file.value || !device.value) return null;
  return { file: file.value.id, device: device.value.ordinal, ...reading(file.value) };
});

/** Which reading of a recording that grows; nothing for what does not. */
export function reading(of: FileInfo): { gen?: number } {
  return of.recording == null ? {} : { gen: of.gen ?? 0 };
}

// ---- the hash -----------------------------------------------------------------------------------

let views: readonly string[] = [START.view];
let timer = 0;

function writeHash(push: boolean): void {
  const wanted = formatHash(page.value);
  if (location.hash === wanted) return;
  if (push) history.pushState(null, "", wanted);
  else history.replaceState(null, "", wanted);
}

export function flushHash(): void {
  window.clearTimeout(timer);
  writeHash(false);
}

/** Changes the state. `push` makes a step of the browser's history: views, files, jumps. */
export function go(patch: Partial<PageState>, push = false): void {
  const next = { ...page.value, ...patch };
  // the time of another cursor
  if ("at" in patch && !("t" in patch)) next.t = null;
  if (push) {
    flushHash();
    page.value = next;
    writeHash(true);
    return;
  }
  page.value = next;
  // browsers refuse more than some hundred changes of the URL in half a minute
  window.clearTimeout(timer);
  timer = window.setTimeout(() => writeHash(false), 250);
}

/** Another file or device: what belongs to the old one goes. */
export function placePatch(fileId: number, ordinal: number | null): Partial<PageState> {
  const other = fileId !== file.peek()?.id;
  const filter = other ? withoutFileTerms(page.peek().filter) : page.peek().filter;
  const ways = { sandwich: null, zoom: [], span: null };
  const range = { x: exportedRange(ordinal) };
  return { ...ways, ...NOWHERE, ...range, filter, file: fileId, device: ordinal };
}

export function goPlace(fileId: number, ordinal: number | null): void {
  notes.value = [];
  go(placePatch(fileId, ordinal), true);
}

/** Links to views that this page does not have are not shown. */
export function isView(name: string): boolean {
  return views.includes(name);
}

/** Counts the links that were followed: what a link asks for is done once, not at every change. */
export const linkRead = signal(0);

/**
 * What of the last link could not be read; waits for the session, which says what else is wrong.
 */
let strange: readonly string[] = [];

/**
 * The part of a device's steps that a page was exported for; null: all of them, or no such page.
 */
function exportedRange(ordinal: number | null): Range | null {
  const of = frozen && (frozenDevice(ordinal ?? undefined) ?? frozen.devices[0] ?? null);
  return of && !of.whole ? [of.from, of.to + 1] : null;
}

/** An exported page begins where it was meant to, and leaves out what it cannot do. */
function readFrozen(state: PageState): PageState {
  if (location.hash === "") return { ...state, x: exportedRange(state.device) };
  const within = withinFrozen(state);
  if (JSON.stringify(within) !== JSON.stringify(state)) {
    strange = [...strange, "search, SQL, filters, the time axis or a sandwich"];
  }
  return within;
}

function readLink(): void {
  // a browser reports a new hash twice, and the first report may have corrected it
  if (linkRead.peek() > 0 && location.hash === formatHash(page.peek())) return;
  strange = unreadable(location.hash, views);
  const parsed = parseHash(location.hash, views);
  const state = frozen === null ? parsed : readFrozen(parsed);
  const files = session.peek()?.files;
  if (files) settleLink(state, files);
  else page.value = state;
}

function settleLink(wanted: PageState, files: readonly FileInfo[]): void {
  const checked = checkLink(wanted, files, deviceOf, strange);
  strange = [];
  batch(() => {
    notes.value = checked.notes;
    page.value = checked.state;
    linkRead.value += 1;
  });
  // a link that was mended is shown as it is meant now
  if (checked.notes.length > 0) writeHash(false);
}

export function startRouter(known: readonly string[]): void {
  views = known;
  readLink();
  window.addEventListener("hashchange", readLink);
  window.addEventListener("popstate", readLink);
}

// ---- answers ------------------------------------------------------------------------------------

export interface Answer<T> {
  data: T | null;
  error: ApiError | null;
  loading: boolean;
}

const NOTHING = { data: null, error: null, loading: false };

export interface Question {
  path: string;
  params: Record<string, string | number>;
}

/** Number of open requests of follow(): a grown recording waits for their answers. */
export const asking = signal(0);

/** The question without which reading of a recording it is about. */
function lasting(asked: Question | null): string {
  return JSON.stringify(asked && { ...asked, params: { ...asked.params, gen: 0 } });
}

/**
 * A signal that follows a question: asks again when `url` changes, drops answers that came late.
 * `keep` shows the old answer until the new one is there; so does a recording that has only grown.
 */
export function follow<T>(url: () => Question | null, keep = false): ReadonlySignal<Answer<T>> {
  const answer = signal<Answer<T>>(NOTHING);
  const question = computed(() => JSON.stringify(url()));
  let before = lasting(null);
  effect(() => {
    const asked = JSON.parse(question.value) as Question | null;
    const kept = keep || lasting(asked) === before;
    before = lasting(asked);
    if (asked === null) {
      answer.value = NOTHING;
      return;
    }
    const abort = new AbortController();
    answer.value = { data: kept ? answer.peek().data : null, error: null, loading: true };
    asking.value = asking.peek() + 1;
    let counted = true;
    const settle = () => {
      if (counted) asking.value = asking.peek() - 1;
      counted = false;
    };
    getJson<T>(asked.path, asked.params, abort.signal)
      .then((data) => {
        answer.value = { data, error: null, loading: false };
      })
      .catch((error: unknown) => {
        if (isAbort(error)) return;
        answer.value = { data: null, error: asApiError(error), loading: false };
      })
      .finally(settle);
    return () => {
      settle();
      abort.abort();
    };
  });
  return answer;
}

/**
 * True once the first picture is complete or has failed. Requests that it does not need wait for
 * it, so that the browser's six connections and the engine serve it first.
 */
export const pictured = signal(false);
const LONGEST_WAIT_MS = 2000;

export const overview = follow<Overview>(() =>
  place.value && (pictured.value || page.value.view === START.view)
    ? { path: "overview", params: place.value }
    : null,
);

/** The session that everything is asked about from now on. */
function adopt(next: Session): void {
  const growing = next.files.filter((one) => one.recording != null);
  showGenerations(new Map(growing.map((one) => [one.id, one.gen ?? 0])));
  session.value = next;
}

/** What is chosen has this number since the recording grew: it was seen before. */
export const carried: { sel: number | null } = { sel: null };

/** A recording has grown: what is seen stays as it is, but for what `patch` says. */
export function adoptGrown(next: Session, patch: Partial<PageState>): void {
  batch(() => {
    adopt(next);
    if (Object.keys(patch).length > 0) go(patch);
  });
}

export async function loadSession(): Promise<void> {
  try {
    const answer = await getJson<Session>("session");
    batch(() => {
      adopt(answer);
      sessionError.value = null;
      settleLink(page.value, answer.files);
      // a recorder at work has no file, and one view
      const alone = answer.files.length === 0 && (answer.lives?.length ?? 0) > 0;
      if (alone) go({ view: "live" });
      else if (answer.files.length === 0 && (answer.working_sets?.length ?? 0) > 0)
        go({ view: "working_set" });
    });
    window.setTimeout(() => {
      pictured.value = true;
    }, LONGEST_WAIT_MS);
  } catch (error) {
    sessionError.value = asApiError(error);
  }
}
