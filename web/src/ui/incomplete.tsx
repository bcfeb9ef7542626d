// The mark beside incomplete figures: something was lost, or not watched.
import type { FigureName, Missing } from "../api/incomplete";
import { visible } from "../text/visible";

/** Live, peak, reserved. */
export const OF_MEMORY: readonly FigureName[] = ["memory", "blocks"];
export const OF_HOLDERS: readonly FigureName[] = ["memory", "blocks", "call sites"];
export const OF_LAUNCHES: readonly FigureName[] = ["launches", "kernel names"];
export const OF_COPIES: readonly FigureName[] = ["copies"];

const MAX_REASONS = 4;

/** Counts can only be too low; memory may be too high as well, where a free was missed. */
export function markText(touched: readonly FigureName[], rows: readonly Missing[] = []): string {
  const counts = touched.every((one) => one === "launches" || one === "copies");
  const why = rows.filter((row) => row.figures.some((one) => touched.includes(one)));
  const isLow = why.length > 0 && why.every((row) => row.at_least);
  return counts || isLow ? "at least" : "incomplete";
}

export function touchedBy(
  rows: readonly Missing[],
  figures: readonly FigureName[],
): readonly FigureName[] {
  return figures.filter((one) => rows.some((row) => row.figures.includes(one)));
}

export function whyText(rows: readonly Missing[], figures: readonly FigureName[]): string {
  const why = rows.filter((row) => row.figures.some((one) => figures.includes(one)));
  const lines = why.slice(0, MAX_REASONS).map((row) => visible(row.reason));
  if (why.length > MAX_REASONS) lines.push(`and ${why.length - MAX_REASONS} more`);
  return lines.join("\n");
}

interface MarkProps {
  touched: readonly FigureName[];
  why: string;
  /** The reasons, where they are known one by one. */
  rows?: readonly Missing[];
}

export function MarkTag({ touched, why, rows }: MarkProps) {
  if (touched.length === 0) return null;
  return (
    <span class="tag" title={why}>
      {markText(touched, rows)}
    </span>
  );
}

export function IncompleteTag({
  rows,
  figures,
}: {
  rows: readonly Missing[] | undefined;
  figures: readonly FigureName[];
}) {
  const touched = touchedBy(rows ?? [], figures);
  return <MarkTag touched={touched} why={whyText(rows ?? [], touched)} rows={rows ?? []} />;
}
