// Recordings that are being written: asks for their state, and shows newly read data without moving
// what the user looks at.
//
//   api/follow, each 0.4 s ─► a newer reading? ─► api/session, api/moved ─► adoptGrown()
//                                                the selection's new number
//
// Nothing is asked while the page is paused or hidden; then the server reads nothing either.
import { computed, effect, signal } from "@preact/signals";
import { asApiError, getJson } from "../../api/client";
import type { Following, Moved, RecordingStatus, Session } from "../../api/contract";
import { frozen } from "../../api/frozen";
import type { PageState } from "../link/url";
import { domainOf, seesEnd } from "../recording/domain";
import { adoptGrown, asking, carried, device, file, page, session } from "./store";

/** the server has a newer reading after a quarter of a second at the earliest */
const POLL_MS = 400;
/** a recorder that was killed does not come back, but another program may write on */
const SLOW_POLL_MS = 5000;
/** the views still wait for answers about the last reading: it is not taken from under them */
const MAX_PATIENCE_MS = 15_000;

export const paused = signal(false);
/** of each recording, with when that was known, ms of the page's clock */
const known = signal<{ at: number; list: readonly RecordingStatus[] } | null>(null);
/** for the words "3 s ago" */
const clock = signal(performance.now());
/** was being written since the page was opened */
const wasLive = signal(false);

export interface Shown extends RecordingStatus {
  /** of all its processes, as the page shows them */
  shownEvents: number;
  ago_s: number;
  /** the page was opened after its end: nothing to report */
  quiet: boolean;
}

/** State of the recording of the file that is shown; null: the file is not of a recording. */
export const recording = computed<Shown | null>(() => {
  const index = file.value?.recording;
  const of = index == null ? undefined : known.value?.list[index];
  if (of === undefined || known.value === null) return null;
  const files = session.value?.files.filter((one) => one.recording === index) ?? [];
  return {
    ...of,
    shownEvents: files.reduce((sum, one) => sum + one.events, 0),
    ago_s: of.changed_s + Math.max(0, clock.value - known.value.at) / 1000,
    quiet: of.state === "ended" && !wasLive.value,
  };
});

function take(list: readonly RecordingStatus[]): void {
  known.value = { at: performance.now(), list };
  clock.value = performance.now();
  if (list.some((one) => one.state !== "ended")) wasLive.value = true;
}

/** Where the window is to be after the recording has grown. */
function windowIn(next: Session): Partial<PageState> {
  const { x, axis } = page.peek();
  const [of, at] = [file.peek(), device.peek()];
  const grown = next.files
    .find((one) => one.id === of?.id)
    ?.devices.find((one) => one.ordinal === at?.ordinal);
  if (!x || !at || !grown) return {};
  const [before, after] = [domainOf(at, axis), domainOf(grown, axis)];
  const ends = (domain: typeof before) => domain.base + domain.end;
  const [low, high] = [x[0] - before.base, x[1] - before.base];
  if (!seesEnd([low, high], before)) return {};
  const by = ends(after) - ends(before);
  return by === 0 ? {} : { x: [x[0] + by, x[1] + by] };
}

/** The numbers of what is chosen may be others now. */
async function choiceIn(next: Session): Promise<Partial<PageState>> {
  const { sel, seg } = page.peek();
  const of = file.peek();
  const now = next.files.find((one) => one.id === of?.id);
  if (!of || !now || now.gen === of.gen || (sel === null && seg === null)) return {};
  const moved = await getJson<Moved>("moved", {
    file: of.id,
    gen: now.gen ?? 0,
    from: of.gen ?? 0,
    allocation: sel,
    segment: seg,
  });
  return {
    ...(sel === null || moved.allocation === sel ? {} : { sel: moved.allocation }),
    ...(seg === null || moved.segment === seg ? {} : { seg: moved.segment }),
  };
}

let behindSince: number | null = null;

function isNewer(gens: readonly number[]): boolean {
  const files = session.peek()?.files ?? [];
  return gens.length > files.length || files.some((one) => (gens[one.id] ?? 0) !== (one.gen ?? 0));
}

async function look(): Promise<void> {
  const { gens, recordings } = await getJson<Following>("follow");
  take(recordings);
  if (!isNewer(gens)) {
    behindSince = null;
    return;
  }
  behindSince ??= performance.now();
  const waited = performance.now() - behindSince;
  if (asking.peek() > 0 && waited < MAX_PATIENCE_MS) return;
  const next = await getJson<Session>("session");
  const { sel, seg } = page.peek();
  const choice = await choiceIn(next);
  // the hand was quicker: what it chose since is asked about the next time
  if (page.peek().sel !== sel || page.peek().seg !== seg) return;
  if (paused.peek()) return;
  if (choice.sel !== undefined) carried.sel = choice.sel;
  adoptGrown(next, { ...windowIn(next), ...choice });
  if (next.recordings) take(next.recordings);
  behindSince = null;
}

function pauseOf(list: readonly RecordingStatus[]): number | null {
  if (list.some((one) => one.state === "recording")) return POLL_MS;
  if (list.some((one) => one.state === "stopped"))
    return behindSince === null ? SLOW_POLL_MS : POLL_MS;
  return behindSince === null ? null : POLL_MS;
}

let timer = 0;
let looking = false;

async function turn(): Promise<void> {
  if (looking) return;
  looking = true;
  try {
    await look();
  } catch (error) {
    // no server, or a reading that is no longer kept: the next question reports either
    void asApiError(error);
  }
  looking = false;
  plan();
}

function plan(): void {
  window.clearTimeout(timer);
  if (paused.peek() || document.hidden || known.peek() === null) return;
  const wait = pauseOf(known.peek()?.list ?? []);
  if (wait !== null) timer = window.setTimeout(() => void turn(), wait);
}

export function pause(on: boolean): void {
  paused.value = on;
  if (on) window.clearTimeout(timer);
  else void turn();
}

/** Once, when the page starts. */
export function startFollowing(): void {
  if (frozen !== null) return;
  const stop = effect(() => {
    const list = session.value?.recordings;
    if (list === undefined) return;
    queueMicrotask(() => stop());
    if (list.length === 0) return;
    take(list);
    plan();
    window.setInterval(() => {
      if (!document.hidden) clock.value = performance.now();
    }, 1000);
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden && !paused.peek()) void turn();
    });
  });
}
