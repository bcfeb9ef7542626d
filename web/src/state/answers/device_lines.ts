// Allocated and reserved bytes over a whole recording, in 1024 columns: asked once per device, used
// by the overview and by every spark line.
import { computed, signal } from "@preact/signals";
import { type ApiError, asApiError, getBuffer } from "../../api/client";
import { decodeLines, type Lines } from "../../api/tile";
import { device, place } from "../page/store";

const COLUMNS = 1024;
const KEPT = 16;

type Known = Lines | ApiError | "asked";
const known = signal<ReadonlyMap<string, Known>>(new Map());

function put(key: string, value: Known): void {
  const next = new Map(known.peek());
  next.delete(key);
  next.set(key, value);
  const oldest = next.keys().next().value;
  if (next.size > KEPT && oldest !== undefined) next.delete(oldest);
  known.value = next;
}

const key = computed(() => {
  const [at, of] = [place.value, device.value];
  return at && of && of.events > 0 ? `${at.file}/${at.device}/${of.events}` : null;
});

/** Asks for the lines of the device that is shown, if nobody has. */
export function wantDeviceLines(): void {
  const [name, at, of] = [key.value, place.value, device.value];
  if (name === null || !at || !of || known.peek().has(name)) return;
  put(name, "asked");
  getBuffer("lines", { ...at, axis: "step", x0: 0, x1: of.events, columns: COLUMNS }).then(
    (buffer) => put(name, decodeLines(buffer)),
    (reason) => put(name, asApiError(reason)),
  );
}

export const deviceLines = computed<{ data: Lines | null; error: ApiError | null }>(() => {
  const found = key.value === null ? undefined : known.value.get(key.value);
  if (found === undefined || found === "asked") return { data: null, error: null };
  return found instanceof Error ? { data: null, error: found } : { data: found, error: null };
});
