// The processes of the Live view: a row each, with rates and a spark line. A row chooses its
// process.

import type { FigureName } from "../../api/incomplete";
import type { LiveAnswer, LiveProcess } from "../../api/live";
import type { LiveSort } from "../../state/link/page_state";
import { formatHash } from "../../state/link/url";
import { go, page } from "../../state/page/store";
import { bytesIn, integer, unitFor } from "../../text/units";
import { visible } from "../../text/visible";
import { Icon } from "../../ui/icons";
import { Spark } from "../../ui/spark";
import { Amount, Bytes, Name } from "../../ui/text";
import { SortHead } from "../../ui/use_rows";
import { devicesText, endTitle, lifeText, mebibytesText, rateText, sorted } from "./words";

const SPARK_WIDTH = 84;
const SPARK_HEIGHT = 18;

interface Head {
  sort: LiveSort | null;
  text: string;
  title: string;
  hide?: "hide-s" | "hide-m";
}

const HEADS: readonly Head[] = [
  {
    sort: "live",
    text: "Live",
    title: "Device memory that the process holds now, from the driver",
  },
  {
    sort: "peak",
    text: "Peak",
    title: "The most device memory that the process held at once",
    hide: "hide-s",
  },
  {
    sort: null,
    text: "In PyTorch",
    title: "Bytes in PyTorch's tensors, of the bytes that PyTorch reserved",
    hide: "hide-s",
  },
  { sort: "allocations", text: "Allocs/s", title: "Allocations of device memory per second" },
  { sort: "launches", text: "Launches/s", title: "Kernel launches per second" },
  { sort: "to_device", text: "H→D MiB/s", title: "Copied from the host to devices per second" },
  { sort: "to_host", text: "D→H MiB/s", title: "Copied from devices to the host per second" },
  { sort: null, text: "Copies", title: "Copies and memsets so far", hide: "hide-m" },
  { sort: "failures", text: "Refused", title: "Memory calls that failed so far" },
];

function ColumnHead({ head: { sort, text, title, hide } }: { head: Head }) {
  const look = `r ${hide ?? ""}`;
  if (sort === null) {
    return (
      <th class={look} title={title}>
        {text}
      </th>
    );
  }
  const down = page.value.rates === sort ? sort !== "pid" : null;
  return (
    <SortHead class={look} title={title} down={down} onSort={() => go({ rates: sort })}>
      {text}
    </SortHead>
  );
}

function Figure({ text, hide = false }: { text: string; hide?: boolean }) {
  return <td class={`r num${text === "0" ? " faint" : ""}${hide ? " hide-m" : ""}`}>{text}</td>;
}

/** "0.97 of 1.20 GiB" */
function InPytorch({ row }: { row: LiveProcess }) {
  const { framework_used_bytes: used, framework_reserved_bytes: reserved } = row;
  if (used === null || reserved === null) return <td class="r faint hide-s">–</td>;
  const unit = unitFor(reserved);
  return (
    <td
      class="r num hide-s"
      title={`${integer(used)} B in tensors of ${integer(reserved)} B in PyTorch's segments`}
    >
      {bytesIn(used, unit).number} of <Amount quantity={bytesIn(reserved, unit)} />
    </td>
  );
}

/** A row has no room for the word. */
function Sign({ of }: { of: readonly FigureName[] }) {
  return (
    <span
      class="tag"
      role="img"
      aria-label="incomplete"
      title={`Incomplete: some events of this process are missing (${of.join(", ")})`}
    >
      !
    </span>
  );
}

interface RowProps {
  row: LiveProcess;
  data: LiveAnswer;
  most: number;
}

function Row({ row, data, most }: RowProps) {
  const chosen = page.value.proc === row.process;
  const choose = () => go({ proc: chosen ? null : row.process });
  const share = most > 0 ? (row.live_bytes / most) * 100 : 0;
  const ended = row.ended_us !== null;
  return (
    <tr class={`picks${ended ? " gone" : ""}`} aria-selected={chosen} onClick={choose}>
      <td class="r num mono">
        {row.incomplete.length > 0 && <Sign of={row.incomplete} />}
        {row.pid}
      </td>
      <td class="wide" title={visible(row.command === "" ? row.name : row.command)}>
        <button type="button" class="rowbtn cut" aria-pressed={chosen}>
          <span class="fn">
            <Name text={row.name} />
          </span>{" "}
          <span class="faint command">
            <Name text={row.command} />
          </span>
        </button>
      </td>
      <td class="mono">{devicesText(row.devices)}</td>
      <td
        class="r num"
        title={`${row.at_least ? "at least " : ""}${integer(row.live_bytes)} B${row.at_least ? ": it had memory before it was watched" : ""}`}
      >
        {row.at_least && "≥ "}
        {row.live_bytes === 0 ? <span class="faint">0</span> : <Bytes value={row.live_bytes} />}
      </td>
      <td class="hide-m">
        <div class="barbox livebar">
          <i class="bar" style={{ width: `${share.toFixed(1)}%` }} />
        </div>
      </td>
      <td class="r num hide-s" title={`${integer(row.peak_bytes)} B`}>
        <Bytes value={row.peak_bytes} />
      </td>
      <InPytorch row={row} />
      <td>
        <Spark
          values={row.spark.map((bytes) => bytes ?? 0)}
          width={SPARK_WIDTH}
          height={SPARK_HEIGHT}
        />
      </td>
      <Figure text={rateText(row.allocations_per_second)} />
      <Figure text={rateText(row.launches_per_second)} />
      <Figure text={mebibytesText(row.to_device_bytes_per_second)} />
      <Figure text={mebibytesText(row.to_host_bytes_per_second)} />
      <Figure text={integer(row.copies)} hide />
      <Figure text={integer(row.failures)} />
      <td class="r num dim" title={endTitle(row)}>
        {lifeText(row, data.now_us)}
      </td>
      <td class="r">
        {row.file !== null && (
          <a
            class="iconbtn"
            href={formatHash({ ...page.value, view: "timeline", file: row.file, device: null })}
            onClick={(event) => event.stopPropagation()}
            aria-label={`Timeline of ${visible(row.name)} ${row.pid}`}
            title="Show its timeline"
          >
            <Icon name="timeline" />
          </a>
        )}
      </td>
    </tr>
  );
}

const WINDOW_NAMES = {
  minute: "Last minute",
  ten_minutes: "Last 10 min",
  whole: "Since the start",
};

export function ProcessTable({ data }: { data: LiveAnswer }) {
  const rows = sorted(data.processes, page.value.rates);
  const most = Math.max(0, ...rows.map((row) => row.live_bytes));
  const [live, peak, pytorch, ...rest] = HEADS;
  return (
    <section class="liveprocs" aria-label="Processes" tabIndex={0}>
      <table class="table">
        <thead>
          <tr>
            <ColumnHead head={{ sort: "pid", text: "PID", title: "Process" }} />
            <th class="wide">Process</th>
            <th>Device</th>
            {live && <ColumnHead head={live} />}
            <td class="hide-m" />
            {peak && <ColumnHead head={peak} />}
            {pytorch && <ColumnHead head={pytorch} />}
            <th>{WINDOW_NAMES[page.value.win]}</th>
            {rest.map((head) => (
              <ColumnHead key={head.text} head={head} />
            ))}
            <th class="r">Age</th>
            <td />
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Row key={row.process} row={row} data={data} most={most} />
          ))}
        </tbody>
      </table>
    </section>
  );
}
