// The rows that are chosen, from the anchor to where the keyboard is, and what is done with them.
import { effect, signal } from "@preact/signals";
import { attempt } from "../../state/notes";
import { counted } from "../../ui/units";
import { MOST_COPIED, question, rowsBetween, tabbed } from "./pages";

export const chosen = signal<{ anchor: number; at: number } | null>(null);
/** "Copied 12 rows", for a moment */
export const copied = signal("");

// other rows: nothing is chosen of them
let asked = "";
effect(() => {
  const now = JSON.stringify(question.value);
  if (now !== asked) chosen.value = null;
  asked = now;
});

async function copyNow(): Promise<void> {
  const of = chosen.peek();
  const [first, last] = of
    ? [Math.min(of.anchor, of.at), Math.max(of.anchor, of.at)]
    : [0, MOST_COPIED - 1];
  const answer = await rowsBetween(first, last);
  if (!answer) return;
  await navigator.clipboard.writeText(tabbed(answer));
  const all = of ? last - first + 1 : answer.shown;
  const more = all > answer.rows.length ? ` of ${all.toLocaleString("en-US")}` : "";
  copied.value = `Copied ${counted(answer.rows.length, "row")}${more}`;
  window.setTimeout(() => {
    copied.value = "";
  }, 1500);
}

export async function copyChosen(): Promise<void> {
  attempt(copyNow());
}
