// The state of memory after any step: the events on the left, every segment as a bar on the right,
// the recording as a strip to scrub along below.

import { useEffect } from "preact/hooks";
import { STATE_SORTS, type StateSort } from "../../api/layout";
import { layout, stepBy } from "../../state/answers/layout";
import { cursorStep, stateAt } from "../../state/page/cursor";
import { onKey } from "../../state/page/keys";
import { attempt } from "../../state/page/notes";
import { device, go, page, pictured } from "../../state/page/store";
import { bytesText, integer, percent } from "../../text/units";
import { Icon } from "../../ui/icons";
import { Menu } from "../../ui/menu";
import { ErrorNotice } from "../../ui/notice";
import { Switch } from "../../ui/switch";
import { Bytes } from "../../ui/text";
import { askRow, EventRows } from "./event_rows";
import { playing, stopPlaying, togglePlaying } from "./player";
import { Scrubber } from "./scrubber";
import { SegmentRows } from "./segment_rows";
import { SORT_NAMES, signOf } from "./words";

function step(by: number): void {
  stopPlaying();
  attempt(stepBy(by, askRow));
}

function stateKey(event: KeyboardEvent): boolean {
  const far = event.shiftKey ? 10 : 1;
  switch (event.key) {
    case "ArrowLeft":
    case "a":
    case "[":
      step(-far);
      return true;
    case "ArrowRight":
    case "d":
    case "]":
      step(far);
      return true;
    case "ArrowUp":
      step(-1);
      return true;
    case "ArrowDown":
      step(1);
      return true;
    case "Home":
      step(Number.NEGATIVE_INFINITY);
      return true;
    case "End":
      step(Number.POSITIVE_INFINITY);
      return true;
    case " ":
      // a button that has the focus keeps its key
      if (event.target instanceof HTMLButtonElement) return false;
      togglePlaying();
      return true;
    case "g":
      go({ colour: page.value.colour === "category" ? "stack" : "category" });
      return true;
    case "e":
      document.getElementById("event-words")?.focus();
      return true;
    case "Escape":
      stepBack();
      return true;
    default:
      return false;
  }
}

/** The block first, then the segment, then the filter over the events, then the cursor. */
function stepBack(): void {
  if (playing.value) stopPlaying();
  else if (page.value.sel !== null) go({ sel: null });
  else if (page.value.seg !== null) go({ seg: null });
  else if (page.value.ev !== "" || page.value.act !== "") go({ ev: "", act: "" });
  else if (page.value.at !== null) go({ at: null });
}

function Head() {
  const event = stateAt.value.data?.step === cursorStep.value ? stateAt.value.data.event : null;
  const { flat, order, scale } = page.value;
  const hasEvents = (device.value?.events ?? 0) > 0;
  return (
    <header class="viewhead">
      <h1>State</h1>
      <span class="sub cut">
        {hasEvents ? (
          <>
            after step <b class="strong num">{integer(cursorStep.value)}</b>
            {event && `, ${signOf(event.action)[1]}`}
          </>
        ) : (
          "final state; the file has no events"
        )}
      </span>
      {hasEvents && <Steps />}
      <Menu
        label="Group the segments"
        class="pick"
        items={[
          { key: "pool", label: "pool, stream" },
          { key: "none", label: "none" },
        ]}
        chosen={flat ? "none" : "pool"}
        onChoose={(key) => go({ flat: key === "none" })}
      >
        <span class="k">Group</span>
        {flat ? "none" : "pool, stream"}
      </Menu>
      <Menu
        label="Sort the segments"
        class="pick"
        items={STATE_SORTS.map((key) => ({ key, label: SORT_NAMES[key] }))}
        chosen={order}
        onChoose={(key) => go({ order: key as StateSort })}
      >
        <span class="k">Sort</span>
        {SORT_NAMES[order]}
      </Menu>
      <Switch
        label="Width of the bars"
        options={[
          { key: "shares", text: "Shares" },
          { key: "scale", text: "To scale" },
        ]}
        chosen={scale ? "scale" : "shares"}
        onChoose={(key) => go({ scale: key === "scale" })}
      />
    </header>
  );
}

function Steps() {
  return (
    <div class="steps" role="group" aria-label="Step">
      <button
        type="button"
        class="btn quiet"
        aria-label="Previous event"
        title="Previous event  ←"
        onClick={() => step(-1)}
      >
        <Icon name="prev" />
        <kbd class="opt">[</kbd>
      </button>
      <button
        type="button"
        class="btn quiet"
        aria-label={playing.value ? "Pause" : "Play"}
        title={playing.value ? "Pause  space" : "Play from here  space"}
        onClick={togglePlaying}
      >
        <Icon name={playing.value ? "pause" : "play"} />
      </button>
      <button
        type="button"
        class="btn quiet"
        aria-label="Next event"
        title="Next event  →"
        onClick={() => step(1)}
      >
        <kbd class="opt">]</kbd>
        <Icon name="go" />
      </button>
    </div>
  );
}

function Foot() {
  const sums = layout.value.data?.sums;
  if (!sums) return <div class="statefoot" />;
  const share = sums.owned_bytes === 0 ? 0 : sums.free_bytes / sums.owned_bytes;
  return (
    <div class="statefoot legend">
      <span>
        <i class="sw l-live" /> live <Bytes value={sums.live_bytes} />
      </span>
      <span title={`${percent(share)} of ${bytesText(sums.owned_bytes)} reserved`}>
        <i class="sw l-free" /> free <Bytes value={sums.free_bytes} />
      </span>
      <span title="freed, but still in use on another stream">
        <i class="sw l-pend" /> pending <Bytes value={sums.pending_bytes} />
      </span>
      <span title="block bytes minus requested bytes">
        <i class="sw l-round" /> rounding <Bytes value={sums.rounding_bytes} />
      </span>
      <span class="opt" title="older than the recording">
        <i class="sw cat9" /> older
      </span>
      <span class="end faint" title="free memory that can be returned to the driver">
        releasable <Bytes value={sums.releasable_bytes} />
      </span>
      {sums.held_in_pools_bytes > 0 && (
        <span
          class="faint"
          title="free memory of CUDA graphs and MemPools, which only they can use or release"
        >
          held in pools <Bytes value={sums.held_in_pools_bytes} />
        </span>
      )}
    </div>
  );
}

export function StateView() {
  useEffect(() => {
    pictured.value = true;
    const off = onKey(stateKey);
    return () => {
      off();
      stopPlaying();
    };
  }, []);
  const { data, error } = layout.value;
  const hasEvents = (device.value?.events ?? 0) > 0;
  return (
    <section class="view on" aria-label="State">
      <Head />
      <div class={hasEvents ? "statewrap" : "statewrap only"}>
        {hasEvents && <EventRows />}
        <div class="statemain">
          {error && (
            <div class="pad14">
              <ErrorNotice error={error} />
            </div>
          )}
          {data && data.total > 0 && <SegmentRows data={data} />}
          {data && data.total === 0 && (
            <p class="evnote">
              <b class="strong">No memory was reserved after this step.</b> There was no segment and
              no live block.
            </p>
          )}
          {!data && !error && (
            <div class="center">
              <div class="progress" role="progressbar" aria-label="Loading the segments" />
            </div>
          )}
          {hasEvents && <Scrubber />}
          <Foot />
        </div>
      </div>
      <p class="vh" role="status">
        {data && !playing.value && `State after step ${integer(data.step)}`}
      </p>
    </section>
  );
}
