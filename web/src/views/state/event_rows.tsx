// The events beside the state: a list of millions of rows of which only the seen ones exist, and
// the words that filter it. The row of the cursor is the chosen one.
import { useEffect, useRef } from "preact/hooks";
import { getJson } from "../../api/client";
import type { EventRow, Events } from "../../api/events";
import {
  cursorRow,
  events,
  eventTotal,
  eventWindow,
  filtering,
  goStep,
  rowAt,
  terms,
} from "../../state/answers/layout";
import { ACTION_GROUPS } from "../../state/link/event_filter";
import { cursorStep } from "../../state/page/cursor";
import { go, page, place } from "../../state/page/store";
import { integer } from "../../text/units";
import { visible } from "../../text/visible";
import { Menu } from "../../ui/menu";
import { Bytes } from "../../ui/text";
import { useRows } from "../../ui/use_rows";
import { signOf } from "./words";

const ROW = 24;
const PAGE = 100;
const TYPING_MS = 250;

/** One row of the list, from the server. */
export async function askRow(index: number): Promise<EventRow | null> {
  const at = place.peek();
  if (!at) return null;
  const params = { ...at, ...terms.peek(), offset: index, limit: 1 };
  return (await getJson<Events>("events", params)).rows[0] ?? null;
}

function Filters() {
  const field = useRef<HTMLInputElement>(null);
  const timer = useRef(0);
  const words = page.value.ev;
  // words of a link or a cleared filter; what is being typed stays
  useEffect(() => {
    const el = field.current;
    if (el && el !== document.activeElement && el.value !== words) el.value = words;
  }, [words]);
  const group = ACTION_GROUPS.find((one) => one.key === page.value.act) ?? ACTION_GROUPS[0];
  const write = (text: string) => {
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      eventWindow.value = { offset: 0, limit: eventWindow.peek().limit };
      go({ ev: text });
    }, TYPING_MS);
  };
  return (
    <div class="evfilter">
      <Menu
        label="Which events"
        class="pick"
        items={ACTION_GROUPS.map(({ key, label }) => ({ key, label }))}
        chosen={page.value.act}
        onChoose={(act) => {
          eventWindow.value = { offset: 0, limit: eventWindow.peek().limit };
          go({ act });
        }}
      >
        {group?.label}
      </Menu>
      <input
        ref={field}
        id="event-words"
        class="field"
        type="search"
        aria-label="Filter the events by stack text, size or address"
        title="Text of any frame, a size as >1MiB, an address as b7f0586000000_1"
        placeholder="frame, >1MiB, address"
        spellcheck={false}
        defaultValue={words}
        onInput={(event) => write(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.preventDefault();
          event.currentTarget.value = "";
          write("");
          document.getElementById("event-list")?.focus();
        }}
      />
    </div>
  );
}

function Row({ row, index }: { row: EventRow | null; index: number }) {
  const chosen = row !== null && row.step === cursorStep.value;
  const [sign, name] = row ? signOf(row.action) : ["", ""];
  const quiet = row?.action === "free_completed" || row?.action === "snapshot";
  return (
    <li
      id={`event-${index}`}
      class={`evrow${row?.action === "oom" ? " is-oom" : ""}${quiet ? " quiet" : ""}`}
      role="option"
      aria-selected={chosen}
      aria-busy={row === null}
      title={
        row?.label ? visible(`${row.label}${row.address_id ? `\n${row.address_id}` : ""}`) : ""
      }
      onClick={() => row && goStep(row.step)}
    >
      {row && (
        <>
          <span class="i">{integer(row.step)}</span>
          <span class="g" aria-hidden="true">
            {sign}
          </span>
          <span class="cut">{visible(name ?? "")}</span>
          {row.size_bytes === null ? (
            <span>unknown</span>
          ) : row.size_bytes > 0 || row.action === "oom" ? (
            <Bytes value={row.size_bytes} />
          ) : (
            <span />
          )}
        </>
      )}
    </li>
  );
}

function Nothing() {
  const { data, error } = events.value;
  if (error) return <p class="evnote">{visible(`${error.what} ${error.hint}`)}</p>;
  if (!data) return <p class="evnote">Loading events…</p>;
  if (data.total > 0) return null;
  return (
    <div class="evnote">
      <p>
        <b class="strong">No event matches.</b> {integer(data.events)} were searched by type, size,
        address and stack.
      </p>
      <button type="button" class="btn" onClick={() => go({ act: "", ev: "" })}>
        Clear the filter
      </button>
    </div>
  );
}

export function EventRows() {
  const total = eventTotal.value ?? 0;
  const { box, onScroll, part, centre } = useRows<HTMLUListElement>(total, ROW);

  useEffect(() => {
    const offset = Math.floor(part.first / PAGE) * PAGE;
    const limit = Math.min(1000, Math.ceil((part.last - offset) / PAGE) * PAGE + PAGE);
    const now = eventWindow.peek();
    if (now.offset !== offset || now.limit !== limit) eventWindow.value = { offset, limit };
  }, [part.first, part.last]);

  // the cursor's row comes into view wherever the cursor was moved from
  const here = cursorRow.value;
  useEffect(() => centre(here), [here, total]);

  const rows = [];
  for (let index = part.first; index < part.last; index += 1) {
    rows.push(<Row key={index} index={index} row={rowAt(index)} />);
  }
  return (
    <section class="events" aria-label="Events">
      <div class="phead ev-h">
        <h2>Events</h2>
        <span
          class="end note num"
          title={filtering.value ? "events that pass the filter" : "events"}
        >
          {integer(total)}
        </span>
      </div>
      <Filters />
      <ul
        class="list"
        id="event-list"
        ref={box}
        role="listbox"
        aria-label="Events, in order"
        aria-busy={events.value.loading}
        aria-activedescendant={here >= part.first && here < part.last ? `event-${here}` : undefined}
        tabIndex={0}
        onScroll={onScroll}
      >
        <li class="room" role="presentation" style={{ height: `${part.height}px` }}>
          <ul class="slice" role="presentation" style={{ top: `${part.offset}px` }}>
            {rows}
          </ul>
        </li>
      </ul>
      {total === 0 && <Nothing />}
    </section>
  );
}
