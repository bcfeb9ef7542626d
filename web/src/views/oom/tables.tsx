// What fits, the pieces, who pins them: the tables of one out-of-memory event.
import { useMemo } from "preact/hooks";
import type { FreePiece, OomStory, Servable, StackPins } from "../../api/oom";
import { formatHash } from "../../state/link/url";
import { page } from "../../state/page/store";
import { PIN_ORDER, perLiveByte, tellingCallers } from "../../text/callers";
import { bytesText, counted, integer } from "../../text/units";
import { visible } from "../../text/visible";
import { BarCell, Table, useFirst } from "../../ui/list_table";
import { Bytes, FrameLabel } from "../../ui/text";

const FIRST_ROWS = 12;

function listName(of: { size_class: string; pool: string; stream: string | null }): string {
  const stream = of.stream === null ? "unknown stream" : `stream ${of.stream}`;
  return `${of.size_class}, ${visible(of.pool)}, ${stream}`;
}

/** Before its flush against after it. */
export function FlushTable({ of }: { of: OomStory }) {
  const { verdict } = of;
  if (verdict.before_step === null) return null;
  const rows: [string, number, number][] = [
    ["reserved", verdict.reserved_before_bytes, verdict.sum.reserved_bytes],
    ["live", verdict.active_before_bytes, verdict.sum.live_bytes + verdict.sum.outside_bytes],
    ["free inside segments", verdict.free_before_bytes, verdict.sum.free_bytes],
  ];
  return (
    <div class="block">
      <div class="phead">
        <h2>Flush before the retry</h2>
        <span class="note">
          {counted(of.given_back_segments, "segment or range", "segments and ranges")} returned,{" "}
          <Bytes value={of.given_back_bytes} />
          {of.waited_for > 0 && `; waited for ${counted(of.waited_for, "free")} on other streams`}
          {of.mapped_in_vain_bytes > 0 &&
            `; mapped ${bytesText(of.mapped_in_vain_bytes)}, which did not help`}
        </span>
      </div>
      <div class="tablebox">
        <table class="table">
          <thead>
            <tr>
              <th class="wide">Bytes</th>
              <th class="r">before, step {integer(verdict.before_step)}</th>
              <th class="r">after, step {integer(of.step)}</th>
              <th class="r">Change</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(([name, before, after]) => (
              <tr key={name}>
                <td class="wide">{name}</td>
                <td class="r">
                  <Bytes value={before} />
                </td>
                <td class="r">
                  <Bytes value={after} />
                </td>
                <td class="r">
                  <Bytes value={after - before} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

function FitRow({ of }: { of: Servable }) {
  return (
    <tr class={of.own ? "own" : ""}>
      <td class="wide">
        {listName(of)}
        {of.own && <span class="tag">this request</span>}
        {of.fits && !of.own && <span class="tag">would fit, but not allowed</span>}
      </td>
      <td class="r">
        {of.largest_request_bytes === 0 ? "none" : <Bytes value={of.largest_request_bytes} />}
      </td>
      <td class="r">
        <Bytes value={of.free_bytes} />
      </td>
      <td class="r num">{integer(of.pieces)}</td>
      <td class="r">
        <Bytes value={of.largest_piece_bytes} />
      </td>
      <td class="r">
        <Bytes value={of.reserved_bytes} />
      </td>
    </tr>
  );
}

export function FitTable({ of }: { of: OomStory }) {
  const list = of.verdict.servable;
  const { rows, rest } = useFirst(list, FIRST_ROWS);
  if (list.length === 0) return null;
  return (
    <div class="block">
      <div class="phead">
        <h2>Largest requests that would have fitted</h2>
        <span class="note">without new driver memory, by the allocator's rules</span>
      </div>
      <div class="tablebox">
        <Table
          heads={[
            { text: "Size class, pool, stream", class: "wide" },
            { text: "Largest request", class: "r" },
            { text: "Free", class: "r" },
            { text: "Pieces", class: "r" },
            { text: "Largest piece", class: "r" },
            { text: "Reserved", class: "r" },
          ]}
        >
          {rows.map((row) => (
            <FitRow key={listName(row)} of={row} />
          ))}
        </Table>
      </div>
      {!of.verdict.pool_recorded && (
        <p class="dim">
          The file does not name the pool of the request; the default pool is assumed.
        </p>
      )}
      {rest}
    </div>
  );
}

function PieceRow({ of, step, scale }: { of: FreePiece; step: number; scale: number }) {
  const state = { ...page.value, view: "state", at: step, seg: of.segment_id, sel: null };
  return (
    <tr>
      <td class="mono">
        <a class="plain" href={formatHash(state)} title="Show its segment in State">
          {of.address}
        </a>
      </td>
      <td class="r">
        <Bytes value={of.size_bytes} />
      </td>
      <BarCell share={of.size_bytes / scale} class="k-free" />
      <td class="wide faint">
        {listName(of)}
        {of.whole_segment && ", a whole segment"}
      </td>
    </tr>
  );
}

export function PieceTable({ of }: { of: OomStory }) {
  const { pieces } = of;
  const { rows, rest } = useFirst(pieces.rows, FIRST_ROWS);
  if (pieces.total === 0) return null;
  const scale = Math.max(1, of.requested_bytes ?? pieces.largest_bytes);
  return (
    <div class="block">
      <div class="phead">
        <h2>Free pieces</h2>
        <span class="note">
          {counted(pieces.total, "piece")}, <Bytes value={of.verdict.sum.free_bytes} />; a full bar
          is {of.requested_bytes === null ? "the largest piece" : "the request"}
        </span>
      </div>
      <div class="tablebox">
        <Table
          heads={[
            { text: "Address" },
            { text: "Free", class: "r" },
            { text: "Free as a bar", class: "barcell", unseen: true },
            { text: "Size class, pool, stream", class: "wide" },
          ]}
        >
          {rows.map((row) => (
            <PieceRow key={row.address} of={row} step={of.step} scale={scale} />
          ))}
        </Table>
      </div>
      {rest}
    </div>
  );
}

function PinRow({ of, step, telling }: { of: StackPins; step: number; telling: string }) {
  const block = (id: number) =>
    formatHash({ ...page.value, view: "state", at: step, sel: id, seg: null });
  const size =
    of.smallest_bytes === of.largest_bytes
      ? bytesText(of.smallest_bytes)
      : `${bytesText(of.smallest_bytes)} – ${bytesText(of.largest_bytes)}`;
  const pins = of.alone_bytes + of.shared_bytes;
  return (
    <tr>
      <td class="wide">
        <a
          class="plain"
          href={block(of.smallest_allocation_id)}
          title="Show its smallest block in State"
        >
          <FrameLabel label={of.label} caller={of.caller} telling={telling} />
        </a>
      </td>
      <td class="r num" title={size}>
        {integer(of.blocks)}
      </td>
      <td class="r">
        <Bytes value={of.block_bytes} />
      </td>
      <td class="r">
        <Bytes value={of.alone_bytes} />
      </td>
      <td class="r">
        <Bytes value={of.shared_bytes} />
      </td>
      <td class="r num">{perLiveByte(pins, of.block_bytes)}</td>
      <td class="r num">
        <a href={block(of.oldest_allocation_id)} title="Show the oldest block in State">
          {of.oldest_step === null ? "before" : integer(of.oldest_step)}
        </a>
      </td>
    </tr>
  );
}

export function PinTable({ of }: { of: OomStory }) {
  const { pinned } = of.verdict;
  const { rows, rest } = useFirst(pinned.rows, FIRST_ROWS);
  const telling = useMemo(() => tellingCallers(pinned.rows), [pinned]);
  return (
    <div class="block">
      <div class="phead">
        <h2>What pins free memory</h2>
        <span class="note">
          <Bytes value={pinned.pinned_bytes} /> free in {counted(pinned.segments, "segment")} with
          live blocks; <Bytes value={pinned.releasable_bytes} /> can be returned
          {pinned.held_in_pools_bytes > 0 && (
            <>
              ; <Bytes value={pinned.held_in_pools_bytes} /> held in private pools
            </>
          )}
        </span>
      </div>
      {rows.length > 0 && (
        <>
          <div class="tablebox">
            <Table
              heads={[
                { text: "Frame and caller", class: "wide" },
                { text: "Blocks", class: "r" },
                { text: "Live bytes", class: "r" },
                {
                  text: "Pinned alone",
                  class: "r",
                  title: "free bytes that could be returned if these blocks were freed",
                },
                {
                  text: "Pinned shared",
                  class: "r",
                  title: "together with blocks of other stacks; the rows overlap",
                },
                { text: "Per live byte", class: "r" },
                {
                  text: "Oldest",
                  class: "r",
                  title: "step at which its oldest block was allocated",
                },
              ]}
            >
              {rows.map((row, i) => (
                <PinRow
                  key={`${row.stack_id}`}
                  of={row}
                  step={of.step}
                  telling={telling[i] ?? ""}
                />
              ))}
            </Table>
          </div>
          <p class="dim">
            Alone: could be returned to the driver if these blocks were freed. Shared: pinned by
            blocks of several stacks, <Bytes value={pinned.shared_bytes} /> in total. Each of these
            stacks lists them, so the column does not add up. {PIN_ORDER}.
          </p>
        </>
      )}
      {rest}
    </div>
  );
}
