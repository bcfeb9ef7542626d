// The address map: where each allocation was during its life. Holes show as the tint of reserved
// memory.
import { signal } from "@preact/signals";
import { getJson } from "../../api/client";
import type { StateAt } from "../../api/contract";
import { onKey } from "../../state/page/keys";
import { attempt } from "../../state/page/notes";
import { device, go, hoverStep, page, place } from "../../state/page/store";
import { counted, integer } from "../../text/units";
import { visible } from "../../text/visible";
import { chooseFound, unchanged } from "../picture/input/choose";
import { NoHistory } from "../picture/panels/no_history";
import { Spoken } from "../picture/panels/spoken";
import { showTip, Tooltip } from "../picture/panels/tooltip";
import type { Canvases, Listener } from "../picture/scene";
import { PictureLayers, usePicture } from "../picture/use_picture";
import { addressAt } from "./axis";
import { MapFeed, ranges } from "./feed";
import { attachMapInput } from "./input";
import { fitMap, mapKey } from "./keys";
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
  const same = unchanged();
  const step = await askStep(under);
  if (!same()) return;
  if (under.quad) {
    go({ sel: under.quad.id, at: step });
    return;
  }
  // small blocks have no rectangle: the server knows which one lies there
  const y = page.peek().whole ? "plain" : "owned";
  await chooseFound(step, () => getJson("map_pick", { ...at, step, at: under.bytes, y }));
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

let feed: MapFeed | null = null;
/** under the pointer */
const address = signal("");

function start(canvases: Pick<Canvases, "blocks" | "front">, listener: Listener, allowGl: boolean) {
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

function Picture() {
  const picture = usePicture(["blocks", "front"], start);
  return (
    <section class="view on" aria-label="Map">
      <MapHead onFit={() => scene && fitMap(scene, () => feed?.moved())} />
      <div class="body fill tlbody">
        <div class="plot grow">
          <PictureLayers
            picture={picture}
            id="map"
            label={`Addresses over ${integer(device.value?.events ?? 0)} steps: where each allocation was during its life. Arrow up and down select the next block, square brackets the next event.`}
            error={picture.error.value ?? ranges.value.error}
          >
            {address.value !== "" && <span class="mapplace mono">{visible(address.value)}</span>}
          </PictureLayers>
        </div>
      </div>
      <Spoken place={(of) => ` at ${of.address}`} />
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
        {counted(device.value.allocations, "live block")}, which the State view shows. To record
        events:
      </p>
    </NoHistory>
  );
}
