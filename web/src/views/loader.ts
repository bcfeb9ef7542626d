// Loads something once, when it is first needed; after a failure it can be tried again.
import { type ReadonlySignal, signal } from "@preact/signals";
import { type ApiError, asApiError } from "../api/client";

export interface Loader<T extends object> {
  loaded: ReadonlySignal<{ it: T } | null>;
  failure: ReadonlySignal<ApiError | null>;
  /** nothing happens while it is loading, and once it is there */
  start: () => void;
}

export function loaderOf<T extends object>(load: () => Promise<T>): Loader<T> {
  const loaded = signal<{ it: T } | null>(null);
  const failure = signal<ApiError | null>(null);
  let begun = false;
  const start = () => {
    if (begun) return;
    begun = true;
    failure.value = null;
    load().then(
      (it) => {
        loaded.value = { it };
      },
      (error: unknown) => {
        begun = false;
        failure.value = asApiError(error);
      },
    );
  };
  return { loaded, failure, start };
}
