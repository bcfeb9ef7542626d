// What the Fragmentation view asks: the recording over time, the step of the cursor taken apart,
// and whether the request of the slider would fit there.
import { computed, signal } from "@preact/signals";
import type { Fit, Forecast, Frag, FragAt } from "../../api/frag";
import { cursorStep } from "../page/cursor";
import { latest, resting } from "../page/latest";
import { device, follow, page, place } from "../page/store";
import { worstOom } from "../recording/ooms";

const SAMPLES = 400;

const shown = computed(() => page.value.view === "fragmentation");

export const frag = follow<Frag>(() =>
  shown.value && place.value
    ? { path: "frag", params: { ...place.value, samples: SAMPLES } }
    : null,
);

export const fragAt = latest<FragAt>(() =>
  shown.value && place.value
    ? { path: "frag_at", params: { ...place.value, step: cursorStep.value } }
    : null,
);

/** Made anew where the cursor rests: from what was known there, or at the end without a cursor. */
const forecastStep = resting(() => page.value.at, 90);
export const forecast = latest<Forecast>(() => {
  const events = device.value?.events ?? 0;
  if (!shown.value || !place.value || events === 0) return null;
  const step = Math.max(0, Math.min(forecastStep.value ?? events, events - 1));
  return { path: "forecast", params: { ...place.value, arena: page.value.arena, step } };
});

export const MIB = 1024 * 1024;
/** Where the slider is being dragged to; the URL follows when it is released. */
export const dragged = signal<number | null>(null);

/** The size that is asked about: the slider's, else what ran out of memory, else a usual one. */
export const request = computed<number>(() => {
  const oom = worstOom(device.value?.ooms ?? [])?.requested_bytes;
  const usual = frag.value.data?.request_bytes || null;
  return dragged.value ?? page.value.fit ?? oom ?? usual ?? MIB;
});

export const fit = latest<Fit>(() =>
  shown.value && place.value && (page.value.fit !== null || frag.value.data !== null)
    ? {
        path: "fit",
        params: { ...place.value, step: cursorStep.value, bytes: Math.max(1, request.value) },
      }
    : null,
);
