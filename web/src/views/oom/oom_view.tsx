// Why an allocation failed: the verdict, the sum that proves it, what would have fitted, who pins
// the rest, what to try.
import { useEffect } from "preact/hooks";
import type { Oom } from "../../api/contract";
import type { OomStory } from "../../api/oom";
import { goOom, OOM_VIEW, oomStory, shownOom } from "../../state/answers/oom";
import { oomProof } from "../../state/answers/proof";
import { hrefOf } from "../../state/link/links";
import { formatHash } from "../../state/link/url";
import { onKey } from "../../state/page/keys";
import { device, file, go, overview, page, pictured } from "../../state/page/store";
import { behindLabel } from "../../text/callers";
import { bytesIn, bytesText, counted, integer, seconds, sharedUnit } from "../../text/units";
import { AdviceList } from "../../ui/advice";
import { Icon } from "../../ui/icons";
import { Menu } from "../../ui/menu";
import { ErrorNotice, Notice } from "../../ui/notice";
import { FrameText, Name, Parts } from "../../ui/text";
import { Holders } from "../overview/lists";
import { SumBlock } from "./sum_bar";
import { FitTable, FlushTable, PieceTable, PinTable } from "./tables";

function asked(oom: Oom): string {
  const { requested_bytes: request, device_free_bytes: left } = oom;
  if (request === null) return "A request of unknown size failed";
  if (left === null) return `${bytesText(request)} requested, free memory unknown`;
  const unit = sharedUnit(request, left);
  const text = (bytes: number) => {
    const { number } = bytesIn(bytes, unit);
    return Number(number) === 0 ? bytesText(bytes) : `${number} ${unit}`;
  };
  return `${text(request)} requested, ${left === 0 ? "nothing" : text(left)} free`;
}

function Head({ ooms, oom }: { ooms: readonly Oom[]; oom: Oom | null }) {
  const start = device.value?.first_time_us ?? null;
  const when = (one: Oom) =>
    one.time_us === null || start === null ? "" : `, ${seconds(one.time_us - start)}`;
  return (
    <header class="viewhead">
      <h1>Out of memory</h1>
      {oom && (
        <span class="sub cut">
          at step <b class="strong num">{integer(oom.step)}</b>
          {when(oom)}
        </span>
      )}
      {ooms.length > 1 && oom && (
        <>
          <div class="steps" role="group" aria-label="Event">
            <button
              type="button"
              class="btn quiet"
              aria-label="Previous out-of-memory event"
              title="Previous event  ["
              onClick={() => goOom(-1)}
            >
              <Icon name="prev" />
            </button>
            <button
              type="button"
              class="btn quiet"
              aria-label="Next out-of-memory event"
              title="Next event  ]"
              onClick={() => goOom(1)}
            >
              <Icon name="go" />
            </button>
          </div>
          <Menu
            label="Which out-of-memory event"
            class="pick"
            items={ooms.map((one) => ({
              key: String(one.step),
              label: `step ${integer(one.step)}`,
              note: one.requested_bytes === null ? "" : bytesText(one.requested_bytes),
            }))}
            chosen={String(oom.step)}
            onChoose={(key) => go({ at: Number(key) })}
          >
            <span class="k">Event</span>
            {ooms.findIndex((one) => one.step === oom.step) + 1} of {integer(ooms.length)}
          </Menu>
        </>
      )}
    </header>
  );
}

function Story({ of, oom }: { of: OomStory; oom: Oom }) {
  const width = Math.max(20, Math.round((device.value?.events ?? 0) / 20));
  const around = formatHash({
    ...page.value,
    view: "timeline",
    axis: "step",
    y: null,
    at: oom.step,
    x: [Math.max(0, oom.step - width), oom.step + 2 + Math.round(width / 10)],
  });
  const state = formatHash({ ...page.value, view: "state", at: oom.step });
  const phase = of.phases[of.phases.length - 1];
  return (
    <>
      <h2 class="headline">{asked(oom)}.</h2>
      <ol class="story">
        {of.sentences.map((sentence, index) => (
          <li key={of.verdict.rows[index]?.verdict ?? "none"}>
            <span>
              <Parts parts={sentence.parts} />
            </span>
          </li>
        ))}
        {of.verdict.last_phase && of.verdict.last_phase.live_bytes > 0 && (
          <li>
            <span>
              <b>{bytesText(of.verdict.last_phase.live_bytes)}</b> of the live memory, in{" "}
              {counted(of.verdict.last_phase.blocks, "block")}, was allocated since step{" "}
              <b>{integer(of.verdict.last_phase.begin_step)}</b>, where phase{" "}
              <b>
                <Name text={of.verdict.last_phase.name} />
              </b>{" "}
              began; most of it by{" "}
              <span class="fn">
                <FrameText label={of.verdict.last_phase.label} />
              </span>
              .
            </span>
          </li>
        )}
        <li>
          <span>
            The request came from{" "}
            <span class="fn">
              <FrameText label={of.label} />
            </span>
            {of.caller !== "" && (
              <span class="fi">
                <Name text={behindLabel(of.caller)} />
              </span>
            )}
            {phase !== undefined && (
              <>
                , in phase{" "}
                <b>
                  <Name text={phase} />
                </b>
              </>
            )}
            .
          </span>
          <span>
            <a class="go" href={state}>
              State
            </a>
            <a class="go" href={around}>
              Timeline
            </a>
          </span>
        </li>
      </ol>
    </>
  );
}

/** No event here: say so, and where there is one. */
function Nothing() {
  const others = (file.value?.devices ?? []).filter((one) => one.ooms.length > 0);
  return (
    <div class="center">
      <Notice
        icon="check"
        title={`${device.value?.label ?? "This device"} never ran out of memory`}
        actions={
          others.length > 0 &&
          others.map((one) => (
            <a
              key={one.ordinal}
              class="btn"
              href={hrefOf(
                { view: OOM_VIEW, label: "", params: { device: one.ordinal } },
                { ...page.value, at: null },
              )}
            >
              {one.label}: {counted(one.ooms.length, "event")}
            </a>
          ))
        }
      >
        <p>
          The recording contains no out-of-memory event of this device. PyTorch writes one when it
          raises OutOfMemoryError while history is recorded. A snapshot taken in an observer
          (torch._C._cuda_attach_out_of_memory_observer) contains the state at that moment.
        </p>
      </Notice>
    </div>
  );
}

export function OomView() {
  useEffect(() => {
    pictured.value = true;
    return onKey((event) => {
      if (event.key !== "[" && event.key !== "]") return false;
      goOom(event.key === "[" ? -1 : 1);
      return true;
    });
  }, []);
  const ooms = device.value?.ooms ?? [];
  const oom = shownOom.value;
  const { data, error } = oomStory.value;
  const shown = data && oom && data.step === oom.step ? data : null;
  return (
    <section class="view on" aria-label="Out of memory">
      <Head ooms={ooms} oom={oom} />
      <div class="body" tabIndex={-1}>
        {!oom && <Nothing />}
        {oom && error && (
          <div class="pad14">
            <ErrorNotice error={error} />
          </div>
        )}
        {oom && !shown && !error && (
          <div class="center">
            <div class="progress" role="progressbar" aria-label="Loading the event" />
          </div>
        )}
        {oom && shown && (
          <div class="oom">
            <Story of={shown} oom={oom} />
            <SumBlock of={shown} />
            <AdviceList list={shown.advice} proof={oomProof.value.data} />
            <FlushTable of={shown} />
            <FitTable of={shown} />
            <PieceTable of={shown} />
            <PinTable of={shown} />
            <Holders of={shown.holders} incomplete={overview.value.data?.incomplete} />
          </div>
        )}
      </div>
      <p class="vh" role="status">
        {shown &&
          `Out of memory at step ${integer(shown.step)}: ${shown.verdict.rows[0]?.text ?? ""}`}
      </p>
    </section>
  );
}
