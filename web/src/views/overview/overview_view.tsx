// The story of the file in sentences with numbers, each with a link to the place.
import { useSignalEffect } from "@preact/signals";
import type { Overview } from "../../api/contract";
import { frozenDevice } from "../../api/frozen";
import { deviceLines, wantDeviceLines } from "../../state/answers/device_lines";
import { overviewProof } from "../../state/answers/proof";
import { formatHash } from "../../state/link/url";
import { device, file, overview, page, pictured } from "../../state/page/store";
import { counted, integer, seconds } from "../../text/units";
import { visible } from "../../text/visible";
import { AdviceList, SentenceItems } from "../../ui/advice";
import { Icon } from "../../ui/icons";
import { IncompleteTag, OF_MEMORY } from "../../ui/incomplete";
import { ErrorNotice, Notice, RECORD_CODE } from "../../ui/notice";
import { DeviceCards } from "./device_card";
import { FailedRequestGauge } from "./failed_request";
import { LinesPlot } from "./lines_plot";
import { Findings, Holders, Issues, Phases, Settings } from "./lists";

/** Each on a line of its own, where there is room. */
export function sentencesOf(text: string): string[] {
  return text.split(/(?<=\.) (?=\S)/);
}

interface EyebrowProps {
  of: Overview["eyebrow"];
  issues: number;
  incomplete: Overview["incomplete"];
}

function Eyebrow({ of, issues, incomplete }: EyebrowProps) {
  const start = device.value?.first_time_us ?? null;
  const noStep = of.step === null || device.value?.events === 0;
  const facts = [
    of.at_start ? "start of the recording" : noStep ? "" : `step ${integer(of.step ?? 0)}`,
    of.at_start || of.time_us === null || start === null ? "" : seconds(of.time_us - start),
    device.value?.label ?? "",
  ].filter((fact) => fact !== "");
  return (
    <div class={`eyebrow${of.kind === "oom" ? "" : " calm"}`}>
      <Icon name={of.kind === "oom" ? "alert" : "overview"} />
      {of.text}
      <span class="faint">{facts.join(" · ")}</span>
      <IncompleteTag rows={incomplete} figures={OF_MEMORY} />
      {issues > 0 && (
        <button
          type="button"
          class="tag issuebadge"
          onClick={() => document.getElementById("issues")?.scrollIntoView({ block: "start" })}
        >
          {counted(issues, "import issue")}
        </button>
      )}
    </div>
  );
}

/** The story is of the whole recording, also where a page was exported for a part of it. */
function Exported() {
  const of = frozenDevice(device.value?.ordinal);
  if (!of || of.whole) return null;
  return (
    <p class="dim">
      This overview covers the whole recording. The page was exported for steps {integer(of.from)} –{" "}
      {integer(of.to)}: the timeline has full detail there, and the flame graphs cover these steps.
    </p>
  );
}

function LinesBlock() {
  if ((device.value?.events ?? 0) === 0) {
    return (
      <div class="block">
        <Notice icon="timeline" title="No history, only the final state" code={RECORD_CODE}>
          <p>
            {device.value?.label ?? "This file"} has no events, so it has no timeline. To record
            events:
          </p>
        </Notice>
      </div>
    );
  }
  return (
    <div class="block">
      <div class="phead">
        <h2>Allocated and reserved</h2>
        <IncompleteTag rows={overview.value.data?.incomplete} figures={OF_MEMORY} />
        <span class="end legend">
          <span>
            <i class="lk k-acc" />
            allocated
          </span>
          <span>
            <i class="lk k-res" />
            reserved
          </span>
          <span>
            <i class="sw k-hatch" />
            reserved, not live
          </span>
          <a href={formatHash({ ...page.value, view: "timeline" })}>Open timeline</a>
        </span>
      </div>
      <div class="plot h-232">
        <LinesPlot />
      </div>
    </div>
  );
}

function Skeleton() {
  return (
    <div class="skeleton" role="progressbar" aria-label="Loading the overview">
      <div class="sk a" />
      <div class="sk b" />
      <div class="sk c" />
    </div>
  );
}

export function OverviewView() {
  const { data, error } = overview.value;
  // the lines are requested together with the story, not after it
  useSignalEffect(wantDeviceLines);
  useSignalEffect(() => {
    if (!overview.value.loading && (deviceLines.value.data || device.value?.events === 0)) {
      pictured.value = true;
    }
  });
  if (error) {
    return (
      <div class="center">
        <ErrorNotice error={error} />
      </div>
    );
  }
  return (
    <section class="view on" aria-label="Overview">
      <div class="body" tabIndex={-1}>
        <div class="ov">
          {data ? (
            <>
              <div class={data.failed_request ? "ov-top" : ""}>
                <div>
                  <Eyebrow
                    of={data.eyebrow}
                    issues={data.issues.length}
                    incomplete={data.incomplete}
                  />
                  <h1 class="headline">
                    {sentencesOf(data.headline).map((one) => (
                      <span key={one}>{visible(one)} </span>
                    ))}
                  </h1>
                  <ol class="story">
                    <SentenceItems list={data.story} />
                  </ol>
                  <Exported />
                </div>
                {data.failed_request && <FailedRequestGauge of={data.failed_request} />}
              </div>
              <LinesBlock />
              <div class="block two">
                <div>
                  <div class="phead">
                    <h2>Devices</h2>
                    <span class="note">at the end of the recording</span>
                    <IncompleteTag rows={data.incomplete} figures={OF_MEMORY} />
                  </div>
                  <DeviceCards />
                </div>
                <Findings list={data.findings} />
              </div>
              <AdviceList list={data.advice} proof={overviewProof.value.data} />
              <Holders of={data.holders} incomplete={data.incomplete} />
              <Phases list={data.phases} total={data.phases_total} />
              <Issues list={data.issues} />
              <Settings list={data.settings} conf={file.value?.conf ?? ""} />
            </>
          ) : (
            <Skeleton />
          )}
        </div>
      </div>
    </section>
  );
}
