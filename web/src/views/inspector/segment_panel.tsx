// One segment at the cursor's step: what is in it, what of it is free, and what keeps it.
import { type Layout, type LayoutSegment, PartKind, partBegins } from "../../api/layout";
import { formatHash } from "../../state/link/url";
import { go, isView, page } from "../../state/page/store";
import { bytesText, counted, integer } from "../../text/units";
import { Bytes, FrameText, Name } from "../../ui/text";
import { PanelHead } from "./panel_head";

const MAX_PARTS = 24;

function Numbers({ of, step }: { of: LayoutSegment; step: number }) {
  const rows: [string, number][] = [
    ["Live", of.live_bytes],
    ["Free", of.free_bytes],
    ["Largest free part", of.largest_free_bytes],
    ["Rounding", of.rounding_bytes],
    ["Pending frees", of.pending_bytes],
  ];
  return (
    <section>
      <h3>After step {integer(step)}</h3>
      <dl class="kv">
        {rows.map(([name, bytes]) => (
          <>
            <dt>{name}</dt>
            <dd title={`${integer(bytes)} B`}>
              <Bytes value={bytes} />
            </dd>
          </>
        ))}
        <dt>Pool, stream</dt>
        <dd>
          {of.pool ? <Name text={of.pool.text} /> : "–"} · {of.stream?.id ?? "–"}
        </dd>
        <dt>From the driver at</dt>
        <dd class="num">{of.first_step === null ? "–" : `step ${integer(of.first_step)}`}</dd>
        <dt>Can be returned</dt>
        <dd>
          {of.blocks === 0
            ? "yes, it has no live block"
            : `no, ${counted(of.blocks, "live block")}`}
        </dd>
      </dl>
    </section>
  );
}

function Pins({ of }: { of: LayoutSegment }) {
  if (of.pins.length === 0) return null;
  return (
    <section>
      <h3>Pinned by {counted(of.pin_count, "block")}</h3>
      <ul class="pins">
        {of.pins.map((pin) => (
          <li key={pin.id}>
            <button
              type="button"
              class="plainrow"
              title={`Select ${pin.address_id}`}
              onClick={() => go({ sel: pin.id })}
            >
              <span class="fn cut">
                {pin.label === "" ? (
                  <span class="faint">unknown stack</span>
                ) : (
                  <FrameText label={pin.label} />
                )}
              </span>
              <Bytes value={pin.block_bytes} />
            </button>
          </li>
        ))}
      </ul>
      <p class="dim t12">
        {of.pinned_bytes > 0 &&
          `If they were freed, ${bytesText(of.owned_bytes)} could be returned to the driver; ${bytesText(of.pinned_bytes)} of it is free already.`}
      </p>
    </section>
  );
}

const KINDS: Record<number, string> = {
  [PartKind.pending]: "freed, still in use on another stream",
  [PartKind.free]: "free",
  [PartKind.unmapped]: "not mapped",
};

function Parts({ data, index }: { data: Layout; index: number }) {
  const begins = partBegins(data);
  const [begin, end] = [begins[index] ?? 0, begins[index + 1] ?? 0];
  const { parts } = data;
  const rows = [];
  for (let at = begin; at < Math.min(end, begin + MAX_PARTS); at += 1) {
    const kind = parts.kind[at] ?? 0;
    const id = parts.allocation[at] ?? -1;
    const older = (parts.provenance[at] ?? 0) !== 0;
    const slots = page.value.colour === "category" ? parts.category_slot : parts.stack_slot;
    const free = kind === PartKind.free || kind === PartKind.unmapped;
    const name =
      kind === PartKind.merged
        ? counted(parts.blocks[at] ?? 0, "small block")
        : (KINDS[kind] ?? (older ? "older than the recording" : `block ${integer(id)}`));
    rows.push(
      <li key={at}>
        <button
          type="button"
          class="plainrow"
          disabled={free || id < 0}
          onClick={() => go({ sel: id })}
        >
          <i class={free ? "sw l-free" : `sw cat${older ? 9 : (slots[at] ?? 0)}`} />
          <span class={free ? "dim cut grow" : "cut grow"}>{name}</span>
          <Bytes value={parts.bytes[at] ?? 0} />
        </button>
      </li>,
    );
  }
  return (
    <section>
      <h3>Parts in order of address</h3>
      <ul class="pins">{rows}</ul>
      {end - begin > MAX_PARTS && (
        <p class="dim t12">and {integer(end - begin - MAX_PARTS)} more</p>
      )}
    </section>
  );
}

export function SegmentPanel({ data }: { data: Layout }) {
  const index = data.segments.findIndex((one) => one.segment?.id === page.value.seg);
  const of = data.segments[index];
  const sql = `SELECT *\nFROM allocations\nWHERE segment_id = ${page.value.seg}\nORDER BY address, first_step`;
  return (
    <div class="ins">
      <PanelHead
        kind={
          <>
            Segment
            {of?.segment && <span class="faint">· {of.segment.kind}</span>}
          </>
        }
        clears={{ seg: null }}
      >
        <h2 class="big">{of ? <Bytes value={of.owned_bytes} /> : `Segment ${page.value.seg}`}</h2>
        {of && <div class="id mono">{of.segment?.address_id ?? of.address}</div>}
      </PanelHead>
      {of ? (
        <>
          <Numbers of={of} step={data.step} />
          <Pins of={of} />
          <Parts data={data} index={index} />
        </>
      ) : (
        <section>
          <p class="dim t12">
            This segment does not exist after step {integer(data.step)}, or is in another part of
            the list.
          </p>
        </section>
      )}
      <section>
        <h3>See it in</h3>
        <div class="links">
          {isView("map") && (
            <a class="btn" href={formatHash({ ...page.value, view: "map" })}>
              Map
            </a>
          )}
          {isView("sql") && (
            <a class="btn" href={formatHash({ ...page.value, view: "sql", sql, mark: "sql" })}>
              SQL
            </a>
          )}
        </div>
      </section>
    </div>
  );
}
