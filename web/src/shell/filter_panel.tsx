// The facets of a filter: what there is in this file, to switch on and off. It only writes terms;
// the server reads them.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import type { Legend } from "../api/contract";
import type { TableAnswer } from "../api/views_contract";
import { categories, setFilter } from "../state/answers/filters";
import {
  members,
  rangeEnds,
  rangeText,
  termOf,
  toggleMember,
  withTerm,
} from "../state/link/filter_terms";
import { device, file, follow, page, place } from "../state/page/store";
import { counted, integer, percent } from "../text/units";
import { Bytes, Name } from "../ui/text";

const open = signal(false);
const streams = follow<TableAnswer>(() =>
  open.value && place.value
    ? { path: "table", params: { ...place.value, name: "streams", sort: "id", order: "asc" } }
    : null,
);
const pools = follow<Legend>(() =>
  open.value && place.value
    ? {
        path: "legend",
        params: { ...place.value, by: "pool", step: device.value?.peak.active.step ?? 0 },
      }
    : null,
);

const PROVENANCES = [
  ["traced", "traced"],
  ["before_recording", "older than the recording"],
  ["lost", "overwritten in the ring buffer"],
  ["ghost", "known from the final state only"],
] as const;

function Not({ of }: { of: string }) {
  const term = termOf(page.value.filter, of);
  return (
    <button
      type="button"
      class="btn quiet fnot"
      aria-pressed={term?.not ?? false}
      disabled={term === null}
      title={`Exclude the chosen values of ${of}`}
      onClick={() => term && setFilter(withTerm(page.value.filter, of, term.value, !term.not))}
    >
      not
    </button>
  );
}

function Facet({ of, name, children }: { of: string; name: string; children: ComponentChildren }) {
  const id = useId();
  return (
    <>
      <span class="fname" id={id}>
        {name}
      </span>
      <div class="fvalues" role="group" aria-labelledby={id}>
        {children}
      </div>
      <Not of={of} />
    </>
  );
}

interface ChoiceProps {
  of: string;
  value: string;
  children: ComponentChildren;
  title?: string;
}

function Choice({ of, value, children, title }: ChoiceProps) {
  const on = members(termOf(page.value.filter, of)).includes(value);
  return (
    <button
      type="button"
      class="lg"
      aria-pressed={on}
      title={title}
      onClick={() => setFilter(toggleMember(page.value.filter, of, value))}
    >
      {children}
    </button>
  );
}

function TextFacet({ of, name, hint }: { of: string; name: string; hint: string }) {
  const value = termOf(page.value.filter, of)?.value ?? "";
  return (
    <Facet of={of} name={name}>
      <input
        class="field mono"
        value={value}
        placeholder={hint}
        aria-label={name}
        spellcheck={false}
        onChange={(event) =>
          setFilter(
            withTerm(
              page.value.filter,
              of,
              event.currentTarget.value,
              termOf(page.value.filter, of)?.not,
            ),
          )
        }
      />
    </Facet>
  );
}

interface RangeFacetProps {
  of: string;
  name: string;
  hints: readonly [string, string];
}

function RangeFacet({ of, name, hints }: RangeFacetProps) {
  const term = termOf(page.value.filter, of);
  const [least, most] = rangeEnds(term?.value ?? "");
  const set = (low: string, high: string) =>
    setFilter(withTerm(page.value.filter, of, rangeText(low, high), term?.not ?? false));
  return (
    <Facet of={of} name={name}>
      <input
        class="field num"
        value={least}
        placeholder={hints[0]}
        aria-label={`${name}, at least`}
        onChange={(event) => set(event.currentTarget.value, most)}
      />
      <span class="faint">to</span>
      <input
        class="field num"
        value={most}
        placeholder={hints[1]}
        aria-label={`${name}, at most`}
        onChange={(event) => set(least, event.currentTarget.value)}
      />
    </Facet>
  );
}

function CategoryFacet() {
  const { data } = categories.value;
  if (!data) return null;
  return (
    <Facet of="category" name="Category">
      {[...data.rows]
        .sort((a, b) => ((a.slot + 9) % 10) - ((b.slot + 9) % 10))
        .filter((row) => row.slot !== 0 || row.bytes > 0)
        .map((row) => (
          <Choice
            key={row.name}
            of="category"
            value={row.name}
            title={counted(row.blocks, "block")}
          >
            <i class={`sw cat${row.slot}`} />
            {row.label}
            <b>
              <Bytes value={row.bytes} />
            </b>
          </Choice>
        ))}
      <span class="faint t12">
        live after step {integer(data.step)}; {percent(data.unknown_share)} of it unknown
      </span>
    </Facet>
  );
}

function streamRows(answer: TableAnswer | null): { id: number; count: number }[] {
  if (!answer) return [];
  const at = (name: string) => answer.columns.findIndex((column) => column.name === name);
  const [id, count] = [at("id"), at("count")];
  return answer.rows.map((row) => ({ id: Number(row[id] ?? 0), count: Number(row[count] ?? 0) }));
}

export function FilterPanel({ onClose }: { onClose: () => void }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    open.value = true;
    box.current?.querySelector<HTMLElement>("button, input")?.focus();
    const away = (event: Event) => {
      if (!box.current?.parentElement?.contains(event.target as Node)) onClose();
    };
    document.addEventListener("pointerdown", away);
    return () => {
      open.value = false;
      document.removeEventListener("pointerdown", away);
    };
  }, [onClose]);
  const devices = file.value?.devices ?? [];
  const pooled = (pools.value.data?.rows ?? []).filter((row) => /^\d+$/.test(String(row.key)));
  return (
    <div
      class="fpanel"
      ref={box}
      role="dialog"
      aria-label="Choose the filter"
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        event.stopPropagation();
        onClose();
        box.current?.parentElement?.querySelector("button")?.focus();
      }}
    >
      <CategoryFacet />
      <RangeFacet of="size" name="Block size" hints={["512KiB", "any"]} />
      <RangeFacet of="life" name="Life (steps)" hints={["0", "any"]} />
      <TextFacet of="stack" name="Stack" hint="text or /regex/ in any frame" />
      <TextFacet of="phase" name="Phase" hint="text or /regex/, active at allocation" />
      <Facet of="provenance" name="Provenance">
        {PROVENANCES.map(([value, label]) => (
          <Choice key={value} of="provenance" value={value}>
            {label}
          </Choice>
        ))}
      </Facet>
      <Facet of="stream" name="Stream">
        {streamRows(streams.value.data).map(({ id, count }) => (
          <Choice key={id} of="stream" value={String(id)} title={counted(count, "allocation")}>
            {id}
          </Choice>
        ))}
      </Facet>
      {pooled.length > 0 && (
        <Facet of="pool" name="Pool">
          {pooled.map((row) => (
            <Choice key={row.key} of="pool" value={String(row.key)}>
              <Name text={row.label} />
            </Choice>
          ))}
        </Facet>
      )}
      {devices.length > 1 && (
        <Facet of="device" name="Device">
          {devices.map((one) => (
            <Choice key={one.ordinal} of="device" value={String(one.ordinal)}>
              {one.label}
            </Choice>
          ))}
        </Facet>
      )}
    </div>
  );
}
