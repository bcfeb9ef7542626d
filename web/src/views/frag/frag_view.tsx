// Free memory inside segments that could not be used: over time, by the size of a request, and what
// pins it. A press on a plot moves the cursor; the numbers are those after its step.

import { useCallback, useEffect } from "preact/hooks";
import { ARENAS, type Arena, type Frag } from "../../api/frag";
import { forecast, frag, fragAt } from "../../state/answers/frag";
import { goStep } from "../../state/answers/layout";
import { cursorStep } from "../../state/page/cursor";
import { onKey } from "../../state/page/keys";
import { device, go, page, pictured } from "../../state/page/store";
import { bytesText, integer } from "../../text/units";
import { Canvas } from "../../ui/canvas";
import { ErrorNotice } from "../../ui/notice";
import type { Surface } from "../../ui/plot";
import { Switch } from "../../ui/switch";
import { Bytes } from "../../ui/text";
import { FitPanel } from "./fit_panel";
import { Pins, Pools } from "./lists";
import { cameText, forecastText, scoresOf, scoreText, tilesOf, warningText } from "./model";
import { drawScore, drawUnused, stepScale } from "./plots";

const ARENA_NAMES: Record<Arena, readonly [string, string]> = {
  reserved: ["Reserved", "Blocks inside segments: this layout explains out-of-memory events"],
  address: ["Address space", "Addresses from the driver: holes there use no physical memory"],
};

function fragKey(event: KeyboardEvent): boolean {
  const far = event.shiftKey ? 10 : 1;
  switch (event.key) {
    case "ArrowLeft":
    case "[":
      if (event.target instanceof HTMLInputElement) return false;
      goStep(cursorStep.value - far);
      return true;
    case "ArrowRight":
    case "]":
      if (event.target instanceof HTMLInputElement) return false;
      goStep(cursorStep.value + far);
      return true;
    case "g":
      go({ arena: page.value.arena === "reserved" ? "address" : "reserved" });
      return true;
    case "Escape":
      if (page.value.fit !== null) go({ fit: null });
      else if (page.value.at !== null) go({ at: null });
      return true;
    default:
      return false;
  }
}

function Head() {
  const events = device.value?.events ?? 0;
  return (
    <header class="viewhead">
      <h1>Fragmentation</h1>
      <span class="sub cut">
        {events > 0 ? (
          <>
            after step <b class="strong num">{integer(cursorStep.value)}</b>
          </>
        ) : (
          "final state; the file has no events"
        )}
        {frag.value.data && `, scores: ${frag.value.data.pool.name}`}
      </span>
      <Switch
        label="Scored layout"
        options={ARENAS.map((key) => ({
          key,
          text: ARENA_NAMES[key][0],
          title: `${ARENA_NAMES[key][1]}  g`,
        }))}
        chosen={page.value.arena}
        onChoose={(arena) => go({ arena })}
      />
    </header>
  );
}

function Tiles() {
  const data = fragAt.value.data;
  if (!data) return <div class="tiles" />;
  return (
    <dl class="tiles">
      {tilesOf(data).map((tile) => (
        <div class="tile" key={tile.name}>
          <dt class="k">{tile.name}</dt>
          <dd class="v" title={`${integer(tile.bytes)} B`}>
            <Bytes value={tile.bytes} />
          </dd>
          <dd class="n cut">{tile.note}</dd>
        </div>
      ))}
    </dl>
  );
}

interface OverTimeProps {
  data: Frag;
  label: string;
  class: string;
  draw: (s: Surface) => void;
}

/** A plot over steps: a press puts the cursor there. */
function OverTime({ label, class: kind, draw }: OverTimeProps) {
  const put = (event: PointerEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const { toStep } = stepScale(device.value?.events ?? 1, box.width);
    goStep(toStep(event.clientX - box.left));
  };
  return (
    <div
      class={`plot overtime ${kind}`}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        put(event);
      }}
      onPointerMove={(event) => event.buttons === 1 && put(event)}
    >
      <Canvas label={label} draw={draw} />
    </div>
  );
}

function Plots({ data }: { data: Frag }) {
  const of = device.value;
  const cursor = cursorStep.value;
  const { arena } = page.value;
  const unused = useCallback(
    (s: Surface) => of && drawUnused(s, data, { of, cursor }),
    [of, data, cursor],
  );
  const ahead = forecast.value.data;
  const score = useCallback(
    (s: Surface) => of && drawScore(s, data, { of, cursor, arena, forecast: ahead }),
    [of, data, cursor, arena, ahead],
  );
  const now = fragAt.value.data?.now[arena];
  const scores = scoresOf(data.columns, arena);
  const most = Math.max(0, ...data.columns.free_bytes);
  return (
    <div class="left">
      <div class="phead">
        <h2>Unused memory over time</h2>
        <span class="end legend">
          <span>
            <i class="lk k-ink" />
            free
          </span>
          <span>
            <i class="lk k-res" />
            pinned
          </span>
          <span>
            <i class="lk k-acc" />
            largest hole
          </span>
          <span
            class="opt"
            title={`free bytes that cannot serve ${bytesText(data.request_bytes)}, the 95th percentile of the requests`}
          >
            <i class="lk dash k-faint" />
            stranded
          </span>
        </span>
      </div>
      <OverTime
        data={data}
        class="fragunused"
        label={`Free bytes inside segments over the recording, at most ${bytesText(most)}`}
        draw={unused}
      />
      <div class="phead">
        <h2>Layout score</h2>
        <span class="note cut">{scoreText(now)}</span>
      </div>
      {scores.length > 0 && (
        <>
          <OverTime
            data={data}
            class="fragscore"
            label={`Layout score over the recording, at most ${Math.max(...scores).toFixed(1)}`}
            draw={score}
          />
          <p class="fitres forecast" role="status">
            {[ahead && forecastText(ahead), ahead && cameText(ahead), ahead && warningText(ahead)]
              .filter((text) => text)
              .map((text) => `${text}. `)}
          </p>
        </>
      )}
    </div>
  );
}

export function FragView() {
  useEffect(() => {
    pictured.value = true;
    return onKey(fragKey);
  }, []);
  const { data, error } = frag.value;
  const at = fragAt.value;
  const problem = error ?? at.error ?? forecast.value.error;
  const hasEvents = (device.value?.events ?? 0) > 0;
  return (
    <section class="view on" aria-label="Fragmentation">
      <Head />
      <Tiles />
      <div class="body fragbody" tabIndex={0} role="region" aria-label="Details">
        {problem && (
          <div class="pad14">
            <ErrorNotice error={problem} />
          </div>
        )}
        {!data && !error && (
          <div class="center">
            <div class="progress" role="progressbar" aria-label="Computing fragmentation" />
          </div>
        )}
        {data && (
          <div class={hasEvents ? "fraggrid" : "fraggrid only"}>
            {hasEvents && <Plots data={data} />}
            <FitPanel />
          </div>
        )}
        {at.data && <Pools of={at.data} />}
        {at.data && <Pins of={at.data} />}
      </div>
      <p class="vh" role="status">
        {at.data && !at.loading && `Fragmentation after step ${integer(at.data.now.step)}`}
      </p>
    </section>
  );
}
