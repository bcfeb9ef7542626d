// Below the lines: holders of memory, launches, copies, calls that the driver refused, events that
// the recorder missed. They cover the chosen process, or all of them.

import type { ComponentChildren } from "preact";
import type { FigureName } from "../../api/incomplete";
import type { LiveAnswer, LiveStacks } from "../../api/live";
import { bytesText, counted, integer, percent } from "../../text/units";
import { visible } from "../../text/visible";
import { MarkTag, OF_COPIES, OF_HOLDERS, OF_LAUNCHES } from "../../ui/incomplete";
import { Table } from "../../ui/list_table";
import { Bytes, FrameText, Name } from "../../ui/text";
import { ageText, deviceText, mebibytesText, rateText } from "./words";

/** Beside figures of these kinds; without any, of all that the page shows. */
export function Incomplete({ of, figures }: { of: LiveAnswer; figures?: readonly FigureName[] }) {
  const touched = of.incomplete_figures.filter((one) => figures?.includes(one) ?? true);
  return (
    <MarkTag
      touched={touched}
      why={`Some events are missing for: ${touched.join(", ")}. See Lost events and Not watched.`}
    />
  );
}

interface PanelProps {
  title: string;
  note?: string;
  data: LiveAnswer;
  figures: readonly FigureName[];
  children: ComponentChildren;
  wide?: boolean;
}

function Panel({ title, note, data, figures, children, wide = false }: PanelProps) {
  return (
    <section class={`livepanel${wide ? " whole" : ""}`} aria-label={title}>
      <div class="phead">
        <h2>{title}</h2>
        {note !== undefined && <span class="note cut">{note}</span>}
        <span class="end">
          <Incomplete of={data} figures={figures} />
        </span>
      </div>
      {children}
    </section>
  );
}

/** "python 41", where rows are of several processes. */
function ownerOf(data: LiveAnswer): (process: number) => string {
  const names = new Map(data.processes.map((row) => [row.process, `${row.name} ${row.pid}`]));
  return (process) => names.get(process) ?? "";
}

function More({ count, of }: { count: number; of: string }) {
  return count > 0 ? (
    <p class="livemore faint">and {counted(count, of, `${of}s`)} with less</p>
  ) : null;
}

/** The call site, in sight; all frames, innermost first, on demand. */
function Frames({ site, frames }: { site: string | null; frames: readonly string[] }) {
  if (site === null) return <span class="faint">no stack was recorded</span>;
  if (frames.length === 1) {
    return (
      <span class="fn">
        <FrameText label={site} />
      </span>
    );
  }
  return (
    <details class="frames">
      <summary class="fn" title={visible(frames.join("\n"))}>
        <FrameText label={site} /> <span class="faint">+{frames.length - 1}</span>
      </summary>
      <ol>
        {frames.map((frame, at) => (
          <li key={`${at}`} class="fn">
            <FrameText label={frame} />
          </li>
        ))}
      </ol>
    </details>
  );
}

function Holders({ data, of, owner }: { data: LiveAnswer; of: LiveStacks; owner: boolean }) {
  const name = ownerOf(data);
  return (
    <>
      <Table
        heads={[
          { text: "Bytes", class: "r" },
          { text: "Share", class: "r" },
          { text: "Blocks", class: "r" },
          { text: "Call site", class: "wide" },
          { text: "Kind" },
          owner && { text: "Process" },
        ]}
      >
        {of.rows.map((row, at) => (
          <tr key={`${at}`}>
            <td class="r num" title={`${integer(row.bytes)} B`}>
              <Bytes value={row.bytes} />
            </td>
            <td class="r num dim">{percent(row.bytes / Math.max(1, of.bytes))}</td>
            <td class="r num">{integer(row.blocks)}</td>
            <td class="wide">
              <Frames site={row.site} frames={row.frames} />
            </td>
            <td class="dim" title={deviceText(row.device)}>
              {row.kind === "block" ? "tensor block" : row.kind}
            </td>
            {owner && (
              <td class="dim">
                <Name text={name(row.process)} />
              </td>
            )}
          </tr>
        ))}
      </Table>
      <More count={of.more} of="stack" />
    </>
  );
}

export function HoldersPanel({ data, all }: { data: LiveAnswer; all: boolean }) {
  const { stacks, blocks, unfreed } = data;
  const nothing = stacks.rows.length === 0;
  return (
    <Panel
      title="Who holds device memory now"
      note={nothing ? "" : `${bytesText(stacks.bytes)} from the driver, by call site`}
      data={data}
      figures={OF_HOLDERS}
      wide
    >
      {nothing ? (
        <p class="livenone">No device memory is held.</p>
      ) : (
        <Holders data={data} of={stacks} owner={all} />
      )}
      {blocks.rows.length > 0 && (
        <>
          <div class="phead">
            <h3>PyTorch’s blocks in this memory</h3>
            <span class="note cut">{bytesText(blocks.bytes)}, as requested, by call site</span>
          </div>
          <Holders data={data} of={blocks} owner={all} />
        </>
      )}
      {unfreed.rows.length > 0 && (
        <>
          <div class="phead">
            <h3>Not freed when the process ended</h3>
            <span class="note cut">{bytesText(unfreed.bytes)}, by call site</span>
          </div>
          <Holders data={data} of={unfreed} owner={all} />
        </>
      )}
    </Panel>
  );
}

export function LaunchesPanel({ data, all }: { data: LiveAnswer; all: boolean }) {
  const { kernels } = data;
  const name = ownerOf(data);
  return (
    <Panel
      title="Launches"
      note={`${integer(kernels.launches)} in total, ${rateText(kernels.per_second)} per second`}
      data={data}
      figures={OF_LAUNCHES}
    >
      {kernels.rows.length === 0 ? (
        <p class="livenone">No kernel was launched.</p>
      ) : (
        <Table
          heads={[
            { text: "Kernel", class: "wide" },
            all && { text: "Process" },
            { text: "Launches", class: "r" },
            { text: "Per second", class: "r" },
          ]}
        >
          {kernels.rows.map((row) => (
            <tr key={`${row.process} ${row.name}`}>
              <td class="wide cut fn" title={visible(row.name)}>
                <Name text={row.name} />
              </td>
              {all && (
                <td class="dim">
                  <Name text={name(row.process)} />
                </td>
              )}
              <td class="r num">{integer(row.launches)}</td>
              <td class={`r num${row.per_second === 0 ? " faint" : ""}`}>
                {rateText(row.per_second)}
              </td>
            </tr>
          ))}
        </Table>
      )}
      <More count={kernels.more} of="kernel" />
    </Panel>
  );
}

/**
 * For calls that return when the copy is done; other calls do not show the time of the transfer.
 */
function bandwidth(bytes: number, us: number): string {
  return us > 0 ? `${bytesText((bytes / us) * 1e6)}/s` : "not timed";
}

export function CopiesPanel({ data }: { data: LiveAnswer }) {
  const calls = data.copies.reduce((sum, row) => sum + row.calls, 0);
  return (
    <Panel title="Copies" note={counted(calls, "call")} data={data} figures={OF_COPIES}>
      {data.copies.length === 0 ? (
        <p class="livenone">Nothing was copied.</p>
      ) : (
        <Table
          heads={[
            { text: "Direction", class: "wide" },
            { text: "Bytes", class: "r" },
            { text: "Calls", class: "r" },
            { text: "MiB/s", class: "r" },
            {
              text: "While copying",
              class: "r",
              title:
                "Bytes per time inside calls that return when the copy is done; calls that only submit it are left out",
            },
            { text: "Refused", class: "r" },
          ]}
        >
          {data.copies.map((row) => (
            <tr key={row.direction}>
              <td class="wide">
                <Name text={row.direction} />
              </td>
              <td class="r num" title={`${integer(row.bytes)} B`}>
                <Bytes value={row.bytes} />
              </td>
              <td class="r num">{integer(row.calls)}</td>
              <td class={`r num${row.bytes_per_second === 0 ? " faint" : ""}`}>
                {mebibytesText(row.bytes_per_second)}
              </td>
              <td class="r num dim">{bandwidth(row.timed_bytes, row.timed_us)}</td>
              <td class={`r num${row.failures === 0 ? " faint" : ""}`}>{integer(row.failures)}</td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}

export function FailuresPanel({ data, all }: { data: LiveAnswer; all: boolean }) {
  const { rows, more } = data.failures;
  const name = ownerOf(data);
  return (
    <Panel
      title="Refused calls"
      note="memory calls that failed, newest first"
      data={data}
      figures={OF_HOLDERS}
      wide
    >
      {rows.length === 0 ? (
        <p class="livenone">No memory call was refused.</p>
      ) : (
        <Table
          heads={[
            { text: "Last", class: "r" },
            { text: "Function" },
            { text: "Code" },
            { text: "Times", class: "r" },
            { text: "Requested", class: "r" },
            { text: "Device" },
            { text: "Call site", class: "wide" },
            all && { text: "Process" },
          ]}
        >
          {rows.map((row, at) => (
            <tr key={`${at}`}>
              <td class="r num dim">{ageText(data.now_us - row.last_us)} ago</td>
              <td class="fn">
                <Name text={row.function} />
              </td>
              <td>
                <span class="num">{row.code}</span> {row.words}
              </td>
              <td class="r num">{integer(row.count)}</td>
              <td class="r num" title={`${integer(row.last_bytes)} B`}>
                {row.last_bytes === 0 ? <span class="faint">–</span> : bytesText(row.last_bytes)}
              </td>
              <td class="dim">{deviceText(row.device)}</td>
              <td class="wide">
                <Frames site={row.site} frames={row.frames} />
              </td>
              {all && (
                <td class="dim">
                  <Name text={name(row.process)} />
                </td>
              )}
            </tr>
          ))}
        </Table>
      )}
      {more > 0 && <p class="livemore faint">and {counted(more, "other call")}</p>}
    </Panel>
  );
}

export function LossesPanel({ data }: { data: LiveAnswer }) {
  return (
    <Panel
      title="Lost events"
      note="for all processes: they share one recorder"
      data={data}
      figures={[]}
      wide
    >
      {data.losses.length === 0 ? (
        <p class="livenone">{data.incomplete ? "None." : "None: every figure is complete."}</p>
      ) : (
        <Table
          heads={[
            { text: "Reason" },
            { text: "Events", class: "r" },
            { text: "What it means", class: "wide" },
          ]}
        >
          {data.losses.map((row) => (
            <tr key={row.reason}>
              <td>
                <Name text={row.reason} />
              </td>
              <td class="r num">{integer(row.count)}</td>
              <td class="meaning">{row.meaning}</td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}

/** Functions, libraries and periods that exist and were not watched. */
export function UnwatchedPanel({ data, all }: { data: LiveAnswer; all: boolean }) {
  const { rows, more } = data.unwatched;
  const name = ownerOf(data);
  if (rows.length === 0) return null;
  return (
    <Panel title="Not watched" data={data} figures={[]} wide>
      <Table
        heads={[
          { text: "What" },
          { text: "Figures" },
          { text: "Why", class: "wide" },
          all && { text: "Process" },
        ]}
      >
        {rows.map((row, at) => (
          <tr key={`${at}`}>
            <td class="fn" title={visible(row.library)}>
              <Name text={row.function || row.library.replace(/^.*\//, "") || "the process"} />
            </td>
            <td class="dim">{row.figures.join(", ")}</td>
            <td class="wide meaning">{visible(row.reason)}</td>
            {all && (
              <td class="dim">
                <Name text={row.process === null ? "all" : name(row.process)} />
              </td>
            )}
          </tr>
        ))}
      </Table>
      {more > 0 && <p class="livemore faint">and {counted(more, "other")}</p>}
    </Panel>
  );
}
