// What the State view asks: the segments after the cursor's step, and the events beside them.
import { computed, signal } from "@preact/signals";
import { getJson } from "../../api/client";
import type { EventRow, Events } from "../../api/events";
import type { Layout } from "../../api/layout";
import { eventTerms } from "../link/event_filter";
import { cursorStep } from "../page/cursor";
import { latest } from "../page/latest";
import { device, follow, go, page, place } from "../page/store";
import { passing } from "./filters";
import { mark } from "./marks";

/** Which segments are on the screen; a little more is requested. */
export const segmentWindow = signal({ offset: 0, limit: 60 });
/** Pixels of the column of bars. */
export const barPixels = signal(300);

const shown = computed(() => page.value.view === "state");

export const layout = latest<Layout>(() => {
  if (!shown.value || !place.value) return null;
  return {
    path: "state",
    params: {
      ...place.value,
      step: cursorStep.value,
      sort: page.value.order,
      group: page.value.flat ? "none" : "pool",
      ...segmentWindow.value,
      ...(mark.value ? { mark: mark.value.number } : {}),
      ...(passing.value === null ? {} : { filter: passing.value }),
    },
  };
});

/** Which events are on the screen. */
export const eventWindow = signal({ offset: 0, limit: 100 });

export const terms = computed(() => eventTerms(page.value.act, page.value.ev));
export const filtering = computed(() => Object.keys(terms.value).length > 0);

export const events = follow<Events>(() => {
  if (!shown.value || !place.value || (device.value?.events ?? 0) === 0) return null;
  return { path: "events", params: { ...place.value, ...terms.value, ...eventWindow.value } };
}, true);

/** Position of the cursor in a filtered list. */
const nearest = latest<Events>(() => {
  if (!shown.value || !place.value || !filtering.value) return null;
  const params = { ...place.value, ...terms.value, step: cursorStep.value, offset: 0, limit: 0 };
  return { path: "events", params };
});

/** Rows of the list; null while that is not known. */
export const eventTotal = computed<number | null>(() =>
  filtering.value ? (events.value.data?.total ?? null) : (device.value?.events ?? 0),
);

export const cursorRow = computed<number>(() =>
  filtering.value ? (nearest.value.data?.nearest ?? 0) : cursorStep.value,
);

export function rowAt(index: number): EventRow | null {
  const of = events.value.data;
  return of?.rows[index - of.offset] ?? null;
}

/** Puts the cursor on the next or previous event of the list. */
export async function stepBy(by: number, ask: (index: number) => Promise<EventRow | null>) {
  const total = eventTotal.peek() ?? 0;
  if (total === 0) return;
  if (!filtering.peek()) {
    goStep(cursorStep.peek() + by);
    return;
  }
  // between two listed events the one before it is the nearest: going back lands on it
  const here = cursorRow.peek();
  const row = rowAt(here) ?? (await ask(here));
  const at = cursorStep.peek();
  const ahead = row !== null && row.step > at;
  const behind = row !== null && row.step < at;
  const index = here + by + (by < 0 && behind ? 1 : 0) - (by > 0 && ahead ? 1 : 0);
  const inside = Math.max(0, Math.min(total - 1, index));
  const found = rowAt(inside) ?? (await ask(inside));
  if (found) goStep(found.step);
}

export function goStep(step: number): void {
  const last = (device.peek()?.events ?? 1) - 1;
  const inside = Math.max(0, Math.min(last, Math.round(step)));
  if (inside !== page.peek().at) go({ at: inside });
}

const PAGE = 500;
const MAX_PAGES = 40;

/**
 * The index of a segment that is not among those that were sent; null: it is not in the list.
 */
export async function findSegment(id: number, of: Layout): Promise<number | null> {
  const at = place.peek();
  if (!at) return null;
  const { order, flat } = page.peek();
  for (let offset = 0; offset < Math.min(of.total, PAGE * MAX_PAGES); offset += PAGE) {
    // parts are not looked at: as few as possible
    const params = { ...at, step: of.step, sort: order, group: flat ? "none" : "pool" };
    const question = { ...params, offset, limit: PAGE, px: 2 ** 50 };
    const { segments } = await getJson<Layout>("state", question);
    const index = segments.findIndex((one) => one.segment?.id === id);
    if (index >= 0) return offset + index;
  }
  return null;
}
