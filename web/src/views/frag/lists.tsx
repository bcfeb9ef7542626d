// Who keeps free bytes from being returned, and the pools one by one.

import { useMemo } from "preact/hooks";
import type { FragAt, FragPool, StackPin } from "../../api/frag";
import { formatHash } from "../../state/link/url";
import { cursorStep } from "../../state/page/cursor";
import { page } from "../../state/page/store";
import { PIN_ORDER, perLiveByte, tellingCallers } from "../../text/callers";
import { bytesText, integer } from "../../text/units";
import { BarCell, Table } from "../../ui/list_table";
import { Bytes, FrameLabel, Name } from "../../ui/text";

const FIRST = 40;

function PinRow({ of, most, telling }: { of: StackPin; most: number; telling: string }) {
  const href = formatHash({
    ...page.value,
    view: "state",
    at: cursorStep.value,
    sel: of.oldest_allocation_id,
    order: "pinned",
  });
  const shared =
    of.shared_bytes === 0
      ? "pinned by this stack alone"
      : `${bytesText(of.shared_bytes)} of it together with other stacks`;
  return (
    <tr>
      <td class="wide">
        <a class="plain" href={href} title="Show its oldest block in State">
          <FrameLabel label={of.label} caller={of.caller} telling={telling} />
        </a>
      </td>
      <td class="r" title={shared}>
        <Bytes value={of.pins_bytes} />
      </td>
      <BarCell share={of.pins_bytes / most} class="res" />
      <td class="r">
        <Bytes value={of.block_bytes} />
      </td>
      <td class="r num">{perLiveByte(of.pins_bytes, of.block_bytes)}</td>
      <td class="r num">{integer(of.blocks)}</td>
      <td class="r num">{integer(of.segments)}</td>
      <td class="r num hide-s">
        {of.oldest_step === null
          ? "before"
          : integer(Math.max(0, cursorStep.value - of.oldest_step))}
      </td>
    </tr>
  );
}

export function Pins({ of }: { of: FragAt }) {
  const { rows, stacks } = of.pins;
  const most = Math.max(1, ...rows.map((row) => row.pins_bytes));
  const telling = useMemo(() => tellingCallers(rows), [rows]);
  return (
    <div class="block0">
      <div class="phead">
        <h2>What pins free memory</h2>
        <span class="note cut">
          {rows.length === 0
            ? "no live block keeps free bytes from being returned"
            : "stacks whose live blocks keep free bytes from being returned; shared bytes count for each"}
        </span>
      </div>
      {rows.length > 0 && (
        <Table
          heads={[
            { text: "Frame and caller" },
            { text: "Pinned free", class: "r" },
            { text: "Share of the largest", unseen: true },
            { text: "Live bytes", class: "r" },
            { text: "Per live byte", class: "r" },
            { text: "Blocks", class: "r" },
            { text: "Segments", class: "r" },
            { text: "Oldest (steps)", class: "r hide-s" },
          ]}
        >
          {rows.slice(0, FIRST).map((row, i) => (
            <PinRow key={row.stack_id ?? -1} of={row} most={most} telling={telling[i] ?? ""} />
          ))}
        </Table>
      )}
      {rows.length > 0 && (
        <p class="fitres">
          {PIN_ORDER}.{stacks > FIRST && ` The first ${FIRST} of ${integer(stacks)} stacks.`}
        </p>
      )}
    </div>
  );
}

function PoolRow({ of }: { of: FragPool }) {
  return (
    <tr>
      <td class="wide">
        <Name text={of.pool.name} />
      </td>
      <td class="r num">{integer(of.segments)}</td>
      <td class="r">
        <Bytes value={of.segments_bytes} />
      </td>
      <td class="r">
        <Bytes value={of.free_bytes} />
      </td>
      <td class="r">
        <Bytes value={of.pinned_bytes} />
      </td>
      <td class="r">
        <Bytes value={of.largest_hole_bytes} />
      </td>
      <td class="r num">{of.reserved?.score.toFixed(1) ?? "–"}</td>
      <td class="r num">{of.address?.score.toFixed(1) ?? "–"}</td>
    </tr>
  );
}

export function Pools({ of }: { of: FragAt }) {
  if (of.pools.length < 2) return null;
  return (
    <div class="block0">
      <div class="phead">
        <h2>Pools</h2>
        <span class="note">
          {of.pools_total > of.pools.length
            ? `the largest ${of.pools.length} of ${integer(of.pools_total)}`
            : "a pool cannot use the free memory of another"}
        </span>
      </div>
      <table class="table">
        <thead>
          <tr>
            <th>Pool</th>
            <th class="r">Segments</th>
            <th class="r" aria-sort="descending">
              Reserved
            </th>
            <th class="r">Free</th>
            <th class="r">Pinned</th>
            <th class="r">Largest hole</th>
            <th class="r">Score</th>
            <th class="r">Address space</th>
          </tr>
        </thead>
        <tbody>
          {of.pools.map((row) => (
            <PoolRow key={row.pool.id.join(" ")} of={row} />
          ))}
        </tbody>
      </table>
    </div>
  );
}
