// The lists below the story: findings, largest holders, phases, import issues.

import { useMemo } from "preact/hooks";
import type { Finding, Holder, Issue, Overview, Phase } from "../../api/contract";
import { hrefOf } from "../../state/link/links";
import { formatHash } from "../../state/link/url";
import { isView, page } from "../../state/page/store";
import { sumsOfAlike, tellingCallers } from "../../text/callers";
import { bytesIn, counted, formatBytes, integer, percent } from "../../text/units";
import { visible } from "../../text/visible";
import { Icon } from "../../ui/icons";
import { IncompleteTag, OF_HOLDERS } from "../../ui/incomplete";
import { BarCell, Table, useFirst } from "../../ui/list_table";
import { Amount, Bytes, FrameLabel, Name, Parts } from "../../ui/text";

const SEVERITY = { high: "h", medium: "m", low: "" } as const;

function FindingRow({ of }: { of: Finding }) {
  const content = (
    <>
      <i class={`sev ${SEVERITY[of.severity]}`} />
      <span>
        <span class="vh">{of.severity}: </span>
        <Parts parts={of.parts} />
      </span>
      <span>
        {of.bytes !== null && (
          <Amount quantity={of.unit ? bytesIn(of.bytes, of.unit) : formatBytes(of.bytes)} />
        )}
      </span>
    </>
  );
  if (!of.link || !isView(of.link.view)) {
    return (
      <li>
        <span class="findrow">{content}</span>
      </li>
    );
  }
  return (
    <li>
      <a class="findrow" href={hrefOf(of.link, page.value)} title={of.link.label}>
        {content}
        <Icon name="go" />
      </a>
    </li>
  );
}

export function Findings({ list }: { list: readonly Finding[] }) {
  return (
    <div>
      <div class="phead">
        <h2>Findings</h2>
        <span class="note">{list.length === 0 ? "none" : `${list.length}, worst first`}</span>
      </div>
      {list.length > 0 && (
        <ul class="finds">
          {list.map((one) => (
            <FindingRow key={one.parts.map((part) => part.text).join("")} of={one} />
          ))}
        </ul>
      )}
    </div>
  );
}

const FIRST_HOLDERS = 12;
const FIRST_PHASES = 40;

const WHEN = { oom: "when memory ran out", peak: "at the peak", end: "at the end" } as const;

/** Marks exactly the holder's blocks. */
function queryFor(holder: Holder): string {
  const which = holder.stack_id === null ? "IS NULL" : `= ${holder.stack_id}`;
  return `SELECT id\nFROM allocations\nWHERE stack_id ${which}`;
}

/** The tensors of its largest blocks; "" if most of its bytes have no name. */
function namesOf({ tensors }: Holder): string {
  if (!tensors || tensors.largest.length === 0) return "";
  const more = tensors.blocks > tensors.largest.length ? " and more" : "";
  return tensors.largest.join(", ") + more;
}

interface HolderRowProps {
  of: Holder;
  at: number;
  largest: number;
  telling: string;
  /** of all rows with this label, at the first of them */
  alike: { bytes: number; rows: number } | null;
}

function HolderRow({ of, at, largest, telling, alike }: HolderRowProps) {
  const href = formatHash({
    ...page.value,
    view: "timeline",
    x: null,
    y: null,
    at,
    sel: of.first_allocation_id,
    sql: queryFor(of),
    mark: "sql",
  });
  const names = namesOf(of);
  return (
    <tr>
      <td class="wide">
        <span class="swrow">
          <a class="plain cut" href={href}>
            <FrameLabel label={of.label} caller={of.caller} telling={telling} />
          </a>
          {names !== "" && (
            <span class="rowtag faint cut" title={visible(names)}>
              <Name text={names} />
            </span>
          )}
          {alike && (
            <span class="rowtag faint" title={`All rows of ${visible(of.label)}`}>
              <Bytes value={alike.bytes} /> in {counted(alike.rows, "row")} of this line
            </span>
          )}
        </span>
      </td>
      <td class="r num">{integer(of.blocks)}</td>
      <td class="r">
        <Bytes value={of.bytes} />
      </td>
      <BarCell share={of.bytes / largest} />
      <td class="r num">{percent(of.share)}</td>
    </tr>
  );
}

interface HoldersProps {
  of: Overview["holders"];
  incomplete: Overview["incomplete"];
}

export function Holders({ of, incomplete }: HoldersProps) {
  const { rows, rest } = useFirst(of.rows, FIRST_HOLDERS);
  const largest = Math.max(1, ...of.rows.map((row) => row.bytes));
  const telling = useMemo(() => tellingCallers(of.rows), [of]);
  const alike = useMemo(() => sumsOfAlike(of.rows), [of]);
  if (of.rows.length === 0) return null;
  return (
    <div class="block">
      <div class="phead">
        <h2>Who held the memory</h2>
        <span class="note">
          {WHEN[of.at]}, {of.step < 0 ? "before the first step" : `step ${integer(of.step)}`},{" "}
          <Bytes value={of.total_bytes} /> live
        </span>
        <IncompleteTag rows={incomplete} figures={OF_HOLDERS} />
      </div>
      <div class="tablebox">
        <Table
          heads={[
            { text: "Frame and caller" },
            { text: "Blocks", class: "r" },
            { text: "Live", class: "r" },
            { text: "Live as a bar", class: "barcell", unseen: true },
            { text: "Share of live", class: "r" },
          ]}
        >
          {rows.map((row, i) => (
            <HolderRow
              key={`${row.stack_id} ${row.label}`}
              of={row}
              at={Math.max(0, of.step)}
              largest={largest}
              telling={telling[i] ?? ""}
              alike={alike[i] ?? null}
            />
          ))}
        </Table>
      </div>
      {rest}
    </div>
  );
}

export function Phases({ list, total }: { list: readonly Phase[]; total: number }) {
  if (list.length === 0) return null;
  return (
    <div class="block">
      <div class="phead">
        <h2>Phases</h2>
        <span class="note">
          {total > FIRST_PHASES ? `the first ${FIRST_PHASES} of ` : ""}
          {counted(total, "annotation")} of the program
        </span>
      </div>
      <div class="tablebox">
        <Table
          heads={[
            { text: "Phase" },
            { text: "Steps", class: "r" },
            { text: "Peak live", class: "r" },
            { text: "at step", class: "r" },
            { text: "Grew by", class: "r" },
          ]}
        >
          {list.slice(0, FIRST_PHASES).map((one) => (
            <tr key={`${one.name} ${one.begin_step}`}>
              <td class="wide">
                <a
                  class="plain"
                  href={formatHash({
                    ...page.value,
                    view: "timeline",
                    axis: "step",
                    y: null,
                    x: [one.begin_step, Math.max(one.begin_step + 1, one.end_step)],
                  })}
                >
                  <Name text={one.name} />
                </a>
              </td>
              <td class="r num">
                {integer(one.begin_step)} – {integer(one.end_step)}
              </td>
              <td class="r">
                <Bytes value={one.peak_active_bytes} />
              </td>
              <td class="r num">
                {one.peak_step < one.begin_step ? "before" : integer(one.peak_step)}
              </td>
              <td class="r">
                {one.grew_bytes > 0 ? "+" : ""}
                <Bytes value={one.grew_bytes} />
              </td>
            </tr>
          ))}
        </Table>
      </div>
    </div>
  );
}

function IssueRow({ of }: { of: Issue }) {
  const where = [
    of.device === null ? "" : `device ${of.device}`,
    of.first_step === null ? "" : `first at step ${integer(of.first_step)}`,
    of.first_offset === null ? "" : `at byte ${integer(of.first_offset)}`,
  ].filter((one) => one !== "");
  return (
    <li>
      <div class="issuehead">
        <b>{visible(of.kind.replaceAll("_", " "))}</b>
        <span class="num">{counted(of.count, "time")}</span>
        {of.bytes > 0 && <Bytes value={of.bytes} />}
        <span class="faint">{where.join(", ")}</span>
      </div>
      {of.meaning !== "" && <p>{visible(of.meaning)}</p>}
      {of.detail !== "" && (
        <p class="faint mono">
          <Name text={of.detail} />
        </p>
      )}
    </li>
  );
}

export function Issues({ list }: { list: readonly Issue[] }) {
  return (
    <div class="block" id="issues">
      <div class="phead">
        <h2>Import issues</h2>
        <span class="note">
          {list.length === 0 ? "none" : `${counted(list.length, "kind")}; no event was dropped`}
        </span>
      </div>
      {list.length > 0 && (
        <ul class="issues">
          {list.map((one) => (
            <IssueRow key={`${one.kind} ${one.device} ${one.first_step}`} of={one} />
          ))}
        </ul>
      )}
    </div>
  );
}

export function Settings({ list, conf }: { list: readonly [string, string][]; conf: string }) {
  if (list.length === 0 && conf === "") return null;
  return (
    <details class="block settings">
      <summary>Allocator settings{conf === "" ? "" : `: ${visible(conf)}`}</summary>
      <dl class="kv">
        {list.map(([key, value]) => (
          <div key={key} class="pair">
            <dt>
              <Name text={key} />
            </dt>
            <dd class="mono">{value === "" ? "–" : <Name text={value} />}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
