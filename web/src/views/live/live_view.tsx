// Current activity: processes, their memory over time and its holders, launches, copies, refused
// calls, lost events. The source is a recording, finished or growing, or a running monitor.

import { useSignal } from "@preact/signals";
import { useCallback, useEffect } from "preact/hooks";
import { LIVE_WINDOWS, type LiveAnswer, type LiveWindow } from "../../api/live";
import { askAgain, live, liveSource, paused, watchSight } from "../../state/answers/live";
import { formatHash } from "../../state/link/url";
import { onKey } from "../../state/page/keys";
import { go, page, pictured } from "../../state/page/store";
import { bytesText, counted, percent } from "../../text/units";
import { Canvas } from "../../ui/canvas";
import { Icon } from "../../ui/icons";
import { OF_MEMORY } from "../../ui/incomplete";
import { ErrorNotice, Notice } from "../../ui/notice";
import type { Surface } from "../../ui/plot";
import { Switch } from "../../ui/switch";
import { Bytes } from "../../ui/text";
import {
  CopiesPanel,
  FailuresPanel,
  HoldersPanel,
  Incomplete,
  LaunchesPanel,
  LossesPanel,
  UnwatchedPanel,
} from "./panels";
import { drawLive, nameOf, partAt, plotText } from "./plot";
import { ProcessTable } from "./process_table";
import { ageText, deviceText, headText, missedText, ratesText } from "./words";

const RECORD_COMMANDS = `tidegauge record -o run.sqlite -- python train.py     # a program, from its start
tidegauge record -o run.sqlite -p 41207               # a running process
tidegauge view run.sqlite                             # also while it records`;

const WINDOWS: Record<LiveWindow, string> = {
  minute: "1 min",
  ten_minutes: "10 min",
  whole: "All",
};

const QUIET_US = 10e6;

function isLive(data: LiveAnswer): boolean {
  return data.state === "recording" || data.state === "monitor";
}

function Head({ data }: { data: LiveAnswer | null }) {
  const on = data !== null && isLive(data);
  return (
    <header class="viewhead">
      <h1>Live</h1>
      <span class="sub cut" title={data ? ratesText(data) : ""}>
        {on && <i class={`livedot${paused.value ? " off" : ""}`} />} {data ? headText(data) : ""}
      </span>
      {data && <Incomplete of={data} />}
      {on && (
        <button
          type="button"
          class="btn"
          aria-pressed={paused.value}
          title="Pause or resume  p"
          onClick={() => {
            paused.value = !paused.value;
          }}
        >
          <Icon name={paused.value ? "play" : "pause"} />
          {paused.value ? "Resume" : "Pause"}
        </button>
      )}
    </header>
  );
}

function Devices({ data }: { data: LiveAnswer }) {
  if (data.devices.length === 0) return null;
  const high = Math.max(1, ...data.devices.map((one) => one.peak_bytes));
  return (
    <div class="livedevs">
      {data.devices.map((one) => (
        <div class="livedev" key={one.device}>
          <div class="k">
            <b>{deviceText(one.device)}</b> {counted(one.processes, "process", "processes")}{" "}
            <Incomplete of={data} figures={OF_MEMORY} />
          </div>
          <div class="v num">
            <Bytes value={one.live_bytes} />
            <span class="n">peak {bytesText(one.peak_bytes)}</span>
          </div>
          <div class="gauge" title="The highest peak of all devices fills the width">
            <i class="level" style={{ width: `${((one.live_bytes / high) * 96).toFixed(2)}%` }} />
            <i class="mark" style={{ left: `${((one.peak_bytes / high) * 96).toFixed(2)}%` }} />
          </div>
        </div>
      ))}
    </div>
  );
}

/** What the reader must know before the figures. */
function Notes({ data }: { data: LiveAnswer }) {
  const quiet = data.now_us - data.newest_us;
  return (
    <>
      {data.read < 1 && (
        <p class="livenote" role="status">
          <Icon name="overview" />
          <span>
            <b>Still reading:</b> {percent(data.read)} of the file. The figures cover that part.
          </span>
        </p>
      )}
      {data.incomplete && (
        <p class="livenote">
          <Icon name="alert" />
          <span>
            <b>Incomplete:</b> {missedText(data)}. Marked figures may be too high or too low. The
            end of this page lists the reasons.
          </span>
        </p>
      )}
      {data.bad_rows > 0 && (
        <p class="livenote">
          <Icon name="alert" />
          <span>
            <b>{counted(data.bad_rows, "row")} of the file</b>{" "}
            {data.bad_rows === 1 ? "is invalid and was" : "are invalid and were"} skipped.
          </span>
        </p>
      )}
      {data.state === "abandoned" && (
        <p class="livenote">
          <Icon name="alert" />
          <span>
            <b>The recording has no end:</b> its recorder was killed, or the disk was full. These
            are the last recorded figures.
          </span>
        </p>
      )}
      {data.state === "recording" && quiet > QUIET_US && (
        <p class="livenote" role="status">
          <Icon name="pause" />
          <span>
            No event for <b>{ageText(quiet)}</b>; the recorder is running.
          </span>
        </p>
      )}
    </>
  );
}

function Lines({ data }: { data: LiveAnswer }) {
  const part = useSignal<number | null>(null);
  const chosen = page.value.proc;
  const at = part.value;
  const draw = useCallback(
    (s: Surface) => drawLive(s, { data, chosen, part: at }),
    [data, chosen, at],
  );
  const parts = data.processes.find(({ line }) => line !== null)?.line?.length ?? 0;
  const shown = data.processes.filter(({ line }) => line !== null).length;
  const row = data.processes.find(({ process }) => process === chosen);
  return (
    <section class="livelines" aria-label="Device memory over time">
      <div class="phead">
        <h2>Device memory over time</h2>
        <span class="note cut">
          {row
            ? `${nameOf(row)} in front of the others`
            : `the maximum of each interval, ${counted(shown, "process", "processes")}`}
        </span>
        <span class="end">
          <Incomplete of={data} figures={OF_MEMORY} />
          {row && row.file !== null && (
            <>
              {["overview", "timeline", "flame"].map((view) => (
                <a
                  key={view}
                  class="btn"
                  href={formatHash({ ...page.value, view, file: row.file ?? 0, device: null })}
                >
                  {view[0]?.toUpperCase()}
                  {view.slice(1)}
                </a>
              ))}
            </>
          )}
          {row && (
            <button type="button" class="btn" onClick={() => go({ proc: null })}>
              All processes
            </button>
          )}
          <Switch
            label="Time window"
            options={LIVE_WINDOWS.map((key) => ({
              key,
              text: WINDOWS[key],
              title: "Next window  m",
            }))}
            chosen={page.value.win}
            onChoose={(win) => go({ win })}
          />
        </span>
      </div>
      <div
        class="plot liveplot"
        onPointerMove={(event) => {
          const { left, width } = event.currentTarget.getBoundingClientRect();
          part.value = partAt(event.clientX - left, width, parts);
        }}
        onPointerLeave={() => {
          part.value = null;
        }}
      >
        <Canvas label={plotText(data)} draw={draw} />
      </div>
    </section>
  );
}

function NoRecording() {
  return (
    <div class="center">
      <Notice icon="live" title="This file is not a recording" code={RECORD_COMMANDS}>
        <p>
          PyTorch wrote this snapshot of one moment. Processes, launches, copies and refused calls
          are in recordings, which <span class="fn">tidegauge record</span> makes:
        </p>
      </Notice>
    </div>
  );
}

function NothingYet({ data }: { data: LiveAnswer }) {
  const on = isLive(data);
  return (
    <div class="center">
      <Notice icon="live" title={on ? "No process has called CUDA yet" : "No process called CUDA"}>
        <p>
          {on
            ? "It appears here as soon as one does. Programs with statically linked CUDA and no symbols cannot be watched. To check this machine, run"
            : "The programs did not call the driver, the runtime or PyTorch, or they have statically linked CUDA and no symbols. To check this machine, run"}{" "}
          <span class="fn">tidegauge doctor</span>.
        </p>
      </Notice>
    </div>
  );
}

function Body({ data }: { data: LiveAnswer }) {
  const all = page.value.proc === null;
  if (data.processes.length === 0 && data.read === 1) return <NothingYet data={data} />;
  return (
    <>
      <Devices data={data} />
      <Notes data={data} />
      <ProcessTable data={data} />
      {data.more_processes > 0 && (
        <p class="livemore faint">
          and {counted(data.more_processes, "more process", "more processes")} that ended or hold
          less
        </p>
      )}
      <p class="livemore faint">{ratesText(data)}</p>
      <Lines data={data} />
      <div class="livegrid">
        <HoldersPanel data={data} all={all} />
        <LaunchesPanel data={data} all={all} />
        <CopiesPanel data={data} />
        <FailuresPanel data={data} all={all} />
        <LossesPanel data={data} />
        <UnwatchedPanel data={data} all={all} />
      </div>
    </>
  );
}

function liveKey(event: KeyboardEvent): boolean {
  const { proc, win } = page.peek();
  switch (event.key) {
    case "p":
      paused.value = !paused.value;
      return true;
    case "m":
    case "M": {
      const by = event.key === "m" ? 1 : LIVE_WINDOWS.length - 1;
      const at = (LIVE_WINDOWS.indexOf(win) + by) % LIVE_WINDOWS.length;
      go({ win: LIVE_WINDOWS[at] ?? "ten_minutes" });
      return true;
    }
    case "Escape":
      if (proc === null) return false;
      go({ proc: null });
      return true;
    default:
      return false;
  }
}

export function LiveView() {
  useEffect(() => onKey(liveKey), []);
  useEffect(watchSight, []);
  const source = liveSource.value;
  const { data, error } = live.value;
  useEffect(() => {
    if (data || error || !source) pictured.value = true;
  }, [data, error, source]);
  return (
    <section class="view on" aria-label="Live">
      <Head data={source ? data : null} />
      <div class="body livebody" tabIndex={0} role="region" aria-label="Figures">
        {error && (
          <div class="pad14">
            <ErrorNotice error={error} retry={askAgain} />
          </div>
        )}
        {!source && <NoRecording />}
        {source && data && <Body data={data} />}
        {source && !data && !error && (
          <div class="center">
            <div class="progress" role="progressbar" aria-label="Reading the recording" />
          </div>
        )}
      </div>
    </section>
  );
}
