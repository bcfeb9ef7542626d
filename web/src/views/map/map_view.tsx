// The address map: every allocation where it lay while it lived. Holes are what is left of the
// tint.
import { signal } from "@preact/signals";
import { getJson } from "../../api/client";
import type { Allocation, StateAt } from "../../api/contract";
import { selection } from "../../state/page/cursor";
import { onKey } from "../../state/page/keys";
import { attempt } from "../../state/page/notes";
import { device, go, hoverStep, page, place } from "../../state/page/store";
import { bytesText, counted, integer } from "../../text/units";
import { visible } from "../../text/visible";
import { NoHistory } from "../picture/panels/no_history";
import { showTip, Tooltip } from "../picture/panels/tooltip";
import type { Canvases, Listener } from "../picture/scene";
import { PictureLayers, usePicture } from "../picture/use_picture";
import { everything } from "../picture/window/window";
import { addressAt } from "./axis";
import { MapFeed, ranges } from "./feed";
import { attachMapInput } from "./input";
import { mapKey } from "./keys";
import { MapHead } from "./map_head";
import { MapScene, type UnderMap } from "./scene";

let scene: MapScene | null = null;

function stepOf(under: UnderMap): number {
  const domain = scene?.subject?.domain;
  return domain?.axis === "step" ? Math.max(0, Math.floor(under.position)) : Number.NaN;
}

/** The step of a place on the axis of time: only the server knows it. */
async function askStep(under: UnderMap): Promise<number> {
  const step = stepOf(under);
  const subject = scene?.subject;
  if (!Number.isNaN(step) || !subject) return Number.isNaN(step) ? 0 : step;
  const x = subject.domain.base + under.position;
  return (await getJson<StateAt>("at", { ...subject.place, axis: "time", x })).step;
}

async function choose(under: UnderMap | null): Promise<void> {
  const at = place.value;
  if (!under || !at) {
    go({ sel: null });
    return;
  }
  const asked = page.peek().sel;
  const step = await askStep(under);
  if (under.quad) {
    go({ sel: under.quad.id, at: step });
    return;
  }
  go({ at: step });
  // small blocks have no rectangle: the server knows which one lies there
  const y = page.peek().whole ? "plain" : "owned";
  const found = await getJson<{ allocation: Allocation | null }>("map_pick", {
    ...at,
    step,
    at: under.bytes,
    y,
  });
  if (page.peek().sel === asked && page.peek().at === step) {
    go({ sel: found.allocation?.id ?? null });
  }
}

function hover(under: UnderMap | null, x: number, y: number): void {
  if (!scene) return;
  scene.hover = under ? { position: under.position, rect: under.rect } : null;
  scene.redraw();
  const domain = scene.subject?.domain;
  if (!under || !domain) {
    hoverStep.value = null;
    showTip(null);
    return;
  }
  const step = stepOf(under);
  hoverStep.value = Number.isNaN(step) ? null : { step, time_us: null };
  const { quad, rect, position, bytes } = under;
  if (!quad || !rect) {
    showTip(null);
    return;
  }
  const drawn = { ...quad, flags: 0, low: rect.y[0], high: rect.y[1], firstStep: 0 };
  const at = { position, bytes, step, activeBytes: Number.NaN, quad: drawn };
  showTip({ under: at, x, y });
}

function Spoken() {
  const of = selection.value.data;
  return (
    <p class="vh" role="status">
      {of
        ? `Selected allocation ${of.address_id}, ${bytesText(of.block_bytes)} at ${of.address}, ${of.live_at_end ? "live at the end" : `freed at step ${of.last_step}`}`
        : ""}
    </p>
  );
}

let feed: MapFeed | null = null;
/** under the pointer */
const address = signal("");

function start(canvases: Pick<Canvases, "glass" | "front">, listener: Listener, allowGl: boolean) {
  const mine = new MapScene(canvases, listener, allowGl);
  scene = mine;
  const mineFeed = new MapFeed(mine);
  feed = mineFeed;
  const moved = () => mineFeed.moved();
  const pick = (under: UnderMap | null) => attempt(choose(under));
  const offInput = attachMapInput(mine, canvases.front, {
    onMoved: moved,
    onHover: (under, x, y) => {
      hover(under, x, y);
      const axis = mine.subject?.axis;
      address.value = under && axis ? (addressAt(axis, under.bytes) ?? "") : "";
    },
    onClick: pick,
  });
  const zoomToSelection = () => mineFeed.zoomToSelection();
  const offKeys = onKey((event) => mapKey(event, mine, { moved, choose: pick, zoomToSelection }));
  const stop = () => {
    offKeys();
    offInput();
    mineFeed.dispose();
    mine.dispose();
    hover(null, 0, 0);
    address.value = "";
    scene = null;
    feed = null;
  };
  return { stats: mine.stats, stop };
}

function fit(): void {
  if (!scene?.subject) return;
  scene.moveTo(everything(scene.subject.domain), [0, scene.subject.axis.bytes], true);
  feed?.moved();
}

function Picture() {
  const picture = usePicture(["glass", "front"], start);
  return (
    <section class="view on" aria-label="Map">
      <MapHead onFit={fit} />
      <div class="body fill tlbody">
        <div class="plot grow">
          <PictureLayers
            picture={picture}
            id="map"
            label={`Addresses over ${integer(device.value?.events ?? 0)} steps: where each allocation lay while it lived. Arrow up and down go from block to block, square brackets from event to event.`}
            error={picture.error.value ?? ranges.value.error}
          >
            {address.value !== "" && <span class="mapplace mono">{visible(address.value)}</span>}
          </PictureLayers>
        </div>
      </div>
      <Spoken />
      <Tooltip />
    </section>
  );
}

export function MapView() {
  if (!device.value || device.value.events > 0) return <Picture />;
  return (
    <NoHistory title="Map" icon="map">
      <p>
        A map of addresses over time needs events; {device.value.label} has only its final state,{" "}
        {counted(device.value.segments, "segment")} with{" "}
        {counted(device.value.allocations, "live block")}. State shows them. Events are recorded
        from the moment on that this is called:
      </p>
    </NoHistory>
  );
}
