// The data of the Live view: requested repeatedly, but only while the view is open, visible and not
// paused. A recording that has ended is checked rarely: another may take its name.
import { batch, computed, effect, signal } from "@preact/signals";
import { type ApiError, asApiError, getJson, isAbort } from "../../api/client";
import type { LiveAnswer, LiveSourceInfo } from "../../api/live";
import { notes } from "../page/notes";
import { file, go, page, session } from "../page/store";

export const LIVE_VIEW = "live";

const COLUMNS = 400;
const EVERY_MS: Record<LiveAnswer["state"], number> = {
  recording: 500,
  monitor: 500,
  abandoned: 3000,
  finished: 5000,
};
const READING_ON_MS = 20;
const AFTER_ERROR_MS = 2000;

export const paused = signal(false);
export const live = signal<{ data: LiveAnswer | null; error: ApiError | null }>({
  data: null,
  error: null,
});

/** A recorder at work, and no file: there is nothing but this view. */
export const monitoring = computed(
  () => (session.value?.files.length ?? 0) === 0 && (session.value?.lives?.length ?? 0) > 0,
);

/** The recording that the page's file is of; null: it is of none. */
export const liveSource = computed<LiveSourceInfo | null>(() => {
  const lives = session.value?.lives ?? [];
  if (monitoring.value) return lives[0] ?? null;
  const id = file.value?.id;
  return id === undefined ? null : (lives.find(({ files }) => files.includes(id)) ?? null);
});

const seen = signal(true);

/** Stops the requests while the page is hidden. Returns a function that ends the watch. */
export function watchSight(): () => void {
  const look = () => {
    seen.value = document.visibilityState === "visible";
  };
  look();
  document.addEventListener("visibilitychange", look);
  return () => document.removeEventListener("visibilitychange", look);
}

const question = computed(() => {
  const source = liveSource.value;
  if (page.value.view !== LIVE_VIEW || source === null) return "";
  const { proc, win } = page.value;
  return JSON.stringify({ source: source.id, process: proc, window: win, columns: COLUMNS });
});

/** A link may name a process of another recording. */
function checkProcess(data: LiveAnswer): void {
  const { proc } = page.peek();
  if (proc === null || data.read < 1 || data.more_processes > 0) return;
  if (data.processes.some(({ process }) => process === proc)) return;
  notes.value = [
    `The link names process ${proc}, which this recording does not have; showing all processes.`,
  ];
  go({ proc: null });
}

/** of which recording the answer is */
let answered: number | null = null;
effect(() => {
  const text = question.value;
  if (text === "") return;
  const source = liveSource.peek()?.id ?? null;
  if (source !== answered) live.value = { data: null, error: null };
  answered = source;
  if (!seen.value || paused.value) return;
  const abort = new AbortController();
  let timer = 0;
  const ask = async () => {
    let wait = AFTER_ERROR_MS;
    try {
      const data = await getJson<LiveAnswer>("live", JSON.parse(text), abort.signal);
      wait = data.read < 1 ? READING_ON_MS : EVERY_MS[data.state];
      batch(() => {
        live.value = { data, error: null };
        checkProcess(data);
      });
    } catch (error) {
      if (isAbort(error)) return;
      live.value = { data: live.peek().data, error: asApiError(error) };
    }
    if (!abort.signal.aborted) timer = window.setTimeout(() => void ask(), wait);
  };
  void ask();
  return () => {
    abort.abort();
    window.clearTimeout(timer);
  };
});

/** Once more, at once. */
export function askAgain(): void {
  paused.value = true;
  paused.value = false;
}
