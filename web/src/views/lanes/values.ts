// What is live and reserved in every lane at the cursor: the server's own figures, exact at any
// zoom. All of one cursor are shown together, so that lanes do not change places one by one.
import { batch, effect } from "@preact/signals";
import { getJson, isAbort } from "../../api/client";
import type { StateAt } from "../../api/contract";
import { attempt } from "../../state/page/notes";
import { page, pictured } from "../../state/page/store";
import { inLane, LANES_VIEW, placeOfLane } from "../../state/recording/lanes";
import { answered, cursor, type LaneValue, shared, values } from "./model";

const MAX_AT_ONCE = 4;

interface Question {
  key: string;
  params: Record<string, string | number>;
}

function questions(): Question[] | null {
  const at = cursor.value;
  if (page.value.view !== LANES_VIEW || !pictured.value || at === null) return null;
  return shared.value.lanes.flatMap((lane) => {
    const own = inLane(lane, at);
    if (own === null || !lane.domain) return [];
    const { axis, base } = lane.domain;
    const params = { ...placeOfLane(lane), axis, x: base + own };
    return [{ key: lane.key, params }];
  });
}

/** A lane without an answer has no figures; its error is thrown after the others are shown. */
export async function askAll(list: readonly Question[], signal: AbortSignal): Promise<void> {
  const found = new Map<string, LaneValue>();
  const rest = [...list];
  const failed: unknown[] = [];
  const work = async () => {
    for (let one = rest.shift(); one; one = rest.shift()) {
      try {
        const { step, totals } = await getJson<StateAt>("at", one.params, signal);
        const { active_bytes: activeBytes, reserved_bytes: reservedBytes } = totals;
        found.set(one.key, { step, activeBytes, reservedBytes });
      } catch (error) {
        if (signal.aborted) return;
        failed.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: MAX_AT_ONCE }, work));
  if (signal.aborted) return;
  batch(() => {
    values.value = found;
    answered.value = true;
  });
  if (failed.length > 0) throw failed[0];
}

/** Follows the cursor until it is stopped. */
export function followValues(): () => void {
  let asked = "";
  let abort = new AbortController();
  const stop = effect(() => {
    const list = questions();
    const text = JSON.stringify(list);
    if (list === null || text === asked) return;
    asked = text;
    abort.abort();
    abort = new AbortController();
    attempt(
      askAll(list, abort.signal).catch((error: unknown) => {
        if (!isAbort(error)) asked = "";
        throw error;
      }),
    );
  });
  return () => {
    stop();
    abort.abort();
    values.value = new Map();
    answered.value = false;
  };
}
