// Live bytes by colour at the cursor; each entry is a switch. A button shows the entries that do
// not fit.
import { signal, useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { LegendBy, LegendRow } from "../../../api/contract";
import { frozen } from "../../../api/frozen";
import { sizeStepOf, UNKNOWN_KEY } from "../../../gl/colour_rules";
import type { Filter } from "../../../gl/painter";
import { legend } from "../../../state/page/cursor";
import { page } from "../../../state/page/store";
import { behindLabel, tellingCallers } from "../../../text/callers";
import { integer } from "../../../text/units";
import { visible } from "../../../text/visible";
import { Icon } from "../../../ui/icons";
import { Bytes, FrameText, Name } from "../../../ui/text";

/** Keys that are switched off; they belong to one way of colouring. */
const switchedOff = signal<{ by: LegendBy; keys: ReadonlySet<string> }>({
  by: "stack",
  keys: new Set(),
});

export function hiddenKeys(): ReadonlySet<string> {
  return switchedOff.value.by === page.value.colour ? switchedOff.value.keys : new Set();
}

function showAll(): void {
  switchedOff.value = { by: page.value.colour, keys: new Set() };
}

function toggle(key: string): void {
  const keys = new Set(hiddenKeys());
  if (!keys.delete(key)) keys.add(key);
  switchedOff.value = { by: page.value.colour, keys };
}

function rowNumber(key: string): number {
  return /^\d+$/.test(key) ? Number(key) : -1;
}

/** As the painters number them, see gl/colour_rules.ts. */
function keyNumber(key: string): number {
  if (key === "unknown") return UNKNOWN_KEY;
  const number = rowNumber(key);
  return number < 0 ? -1 : number + 1;
}

/** What the painters need of the switches. The rest is everything that has no entry of its own. */
export function filterOf(rows: readonly LegendRow[], hidden: ReadonlySet<string>): Filter {
  const numbers = (keys: Iterable<string>) =>
    new Set([...keys].map(keyNumber).filter((key) => key >= 0));
  return {
    listed: numbers(rows.map((row) => String(row.key))),
    hidden: numbers(hidden),
    restHidden: hidden.has("other"),
  };
}

/** Class of the swatch; sizes and ages use the steps of their ramp. */
function swatch(row: LegendRow, by: LegendBy): string {
  if (by === "size") return `size${1 + sizeStepOf(Math.max(0, rowNumber(String(row.key))))}`;
  if (by === "age") return `age${1 + Math.max(0, Math.min(6, rowNumber(String(row.key))))}`;
  return `cat${row.slot}`;
}

function Label({ row, telling }: { row: LegendRow; telling: string }) {
  const title = row.label + behindLabel(row.caller);
  return (
    <span class="framepair" title={visible(title)}>
      <span class="cut own">
        <FrameText label={row.label} />
      </span>
      {telling !== "" && (
        <span class="fi">
          <Name text={behindLabel(telling)} />
        </span>
      )}
    </span>
  );
}

/** `still`: a key to the colours only; several files have no common list to switch off. */
export function LegendBar({ still = false }: { still?: boolean }) {
  const wide = useSignal(false);
  const overflow = useSignal(0);
  const list = useRef<HTMLDivElement>(null);
  const data = legend.value.data;
  const hidden = still ? new Set<string>() : hiddenKeys();
  const by = page.value.colour;
  const rows = data?.rows ?? [];
  const stack = (row: LegendRow) => (by === "stack" ? rowNumber(String(row.key)) : -1);
  const callers = tellingCallers(
    rows.map((row) => ({ ...row, stack_id: stack(row) < 0 ? null : stack(row) })),
  );

  const count = () => {
    const children = [...(list.current?.children ?? [])] as HTMLElement[];
    const firstRow = (children[0]?.offsetTop ?? 0) + 8;
    overflow.value = children.filter((child) => child.offsetTop > firstRow).length;
  };
  // other rows, or another width
  useLayoutEffect(count);
  useLayoutEffect(() => {
    if (!list.current) return;
    const observer = new ResizeObserver(count);
    observer.observe(list.current);
    return () => observer.disconnect();
  }, []);

  return (
    <div
      class={`legendbar${wide.value ? " wide" : ""}`}
      role="group"
      aria-label={still ? "Legend" : "Legend and filter"}
    >
      {frozen !== null && data && (
        <span class="lgstep faint" title="The nearest step with a legend in this page">
          step {integer(data.step)}
        </span>
      )}
      <div class="lgs" ref={list}>
        {rows.map((row, i) => {
          const alike = rows.some((one) => one !== row && one.label === row.label);
          const key = String(row.key);
          const look = alike ? "lg alike" : "lg";
          const entry = (
            <>
              <i class={`sw ${swatch(row, by)}`} />
              <Label row={row} telling={alike ? (callers[i] ?? "") : ""} />
              <b>
                <Bytes value={row.bytes} />
              </b>
            </>
          );
          return still ? (
            <span class={`${look} still`} key={key}>
              {entry}
            </span>
          ) : (
            <button
              type="button"
              class={look}
              key={key}
              aria-pressed={!hidden.has(key)}
              onClick={() => toggle(key)}
            >
              {entry}
            </button>
          );
        })}
      </div>
      {hidden.size > 0 && (
        <button type="button" class="lg" onClick={showAll}>
          Show all
        </button>
      )}
      {(overflow.value > 0 || wide.value) && (
        <button
          type="button"
          class="lg more"
          aria-expanded={wide.value}
          onClick={() => {
            wide.value = !wide.value;
          }}
        >
          {wide.value ? "Less" : `${overflow.value} more`}
          <Icon name="down" />
        </button>
      )}
    </div>
  );
}
