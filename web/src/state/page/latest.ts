// Answers for a question that changes faster than it can be answered: scrubbing, playing. One is
// under way at a time; when it lands it is shown, and the newest question goes next. Nothing
// starves.
import { computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import { asApiError, getJson } from "../../api/client";
import type { Answer, Question } from "./store";

/** A value that follows another once that one has not changed for a while. */
export function resting<T>(of: () => T, ms: number): ReadonlySignal<T> {
  const rested = signal(of());
  let timer: ReturnType<typeof setTimeout> | undefined;
  effect(() => {
    const now = of();
    clearTimeout(timer);
    timer = setTimeout(() => {
      rested.value = now;
    }, ms);
  });
  return rested;
}

export function latest<T>(
  question: () => Question | null,
  ask: (of: Question) => Promise<T> = (of) => getJson<T>(of.path, of.params),
): ReadonlySignal<Answer<T>> {
  const nothing: Answer<T> = { data: null, error: null, loading: false };
  const answer = signal<Answer<T>>(nothing);
  const wanted = computed(() => JSON.stringify(question()));
  let under = "null";

  const next = () => {
    const text = wanted.peek();
    under = text;
    if (text === "null") {
      answer.value = nothing;
      return;
    }
    answer.value = { data: answer.peek().data, error: null, loading: true };
    const land = (arrived: Answer<T>) => {
      const current = wanted.peek();
      // no longer wanted: the view was left, or the file
      answer.value = current === "null" ? nothing : { ...arrived, loading: current !== text };
      under = "null";
      if (current !== text) next();
    };
    ask(JSON.parse(text) as Question).then(
      (data) => land({ data, error: null, loading: false }),
      (reason: unknown) => land({ data: null, error: asApiError(reason), loading: false }),
    );
  };
  effect(() => {
    void wanted.value;
    if (under === "null") next();
  });
  return answer;
}
