// Every allocation as a block of a stack: the frame around the picture that scene.ts draws.
import type { LegendBy } from "../../api/contract";
import { colourings } from "../../state/page/cursor";
import { onKey } from "../../state/page/keys";
import { attempt } from "../../state/page/notes";
import { device, go, hoverStep, page, place, resolution } from "../../state/page/store";
import { counted, integer } from "../../text/units";
import { Menu } from "../../ui/menu";
import { chooseBlock } from "../picture/input/choose";
import { fitAll } from "../picture/input/moves";
import type { Under } from "../picture/input/pick";
import { AxisSwitch, withTimeAxis } from "../picture/panels/axis_switch";
import { LegendBar } from "../picture/panels/legend_bar";
import { MarkChip } from "../picture/panels/mark_chip";
import { NoHistory } from "../picture/panels/no_history";
import { Spoken } from "../picture/panels/spoken";
import { showTip, Tooltip } from "../picture/panels/tooltip";
import type { Canvases, Listener } from "../picture/scene";
import { PictureLayers, usePicture } from "../picture/use_picture";
import { otherAxis, TimelineFeed } from "./feed";
import { attachInput } from "./input";
import { timelineKey } from "./keys";
import { TimelineScene } from "./scene";

const NAMES: Record<LegendBy, string> = {
  stack: "stack",
  category: "category",
  stream: "stream",
  pool: "pool",
  size: "size",
  age: "age",
  provenance: "provenance",
};

let scene: TimelineScene | null = null;

function Head({ onAxis, onFit }: { onAxis: () => void; onFit: () => void }) {
  const colour = page.value.colour;
  return (
    <header class="viewhead">
      <h1>Timeline</h1>
      <span class="sub cut">Every allocation as a block, stacked in order of allocation</span>
      <MarkChip />
      <Menu
        label={`Colour by ${NAMES[colour]}`}
        class="pick"
        items={colourings.value.map((by) => ({ key: by, label: NAMES[by] }))}
        chosen={colour}
        onChoose={(key) => go({ colour: key as LegendBy })}
      >
        <span class="k">Colour</span>
        {NAMES[colour]}
      </Menu>
      <AxisSwitch onOther={onAxis} />
      <button type="button" class="btn quiet" title="Fit  f" onClick={onFit}>
        Fit <kbd class="opt">f</kbd>
      </button>
    </header>
  );
}

function changeAxis(): void {
  withTimeAxis(() => scene && attempt(otherAxis(scene)));
}

function choose(under: Under | null): void {
  const at = place.value;
  if (under && at) chooseBlock(at, under);
  else go({ sel: null });
}

function hover(under: Under | null, x: number, y: number): void {
  if (!scene) return;
  scene.hover = under ? { position: under.position, id: under.quad?.id ?? null } : null;
  hoverStep.value = under ? { step: under.step, time_us: timeOf(under) } : null;
  showTip(under ? { under, x, y } : null);
  scene.redraw();
}

function timeOf(under: Under): number | null {
  const domain = scene?.subject?.domain;
  return domain?.axis === "time" ? domain.base + under.position : null;
}

let feed: TimelineFeed | null = null;

function start(canvases: Canvases, listener: Listener, allowGl: boolean) {
  const onResolution = (steps: number, bytes: number) => {
    const known = resolution.peek();
    if (known?.steps !== steps || known.bytes !== bytes) resolution.value = { steps, bytes };
  };
  const mine = new TimelineScene(canvases, { ...listener, onResolution }, allowGl);
  scene = mine;
  const mineFeed = new TimelineFeed(mine);
  feed = mineFeed;
  const moved = () => mineFeed.moved();
  const handlers = { onMoved: moved, onHover: hover, onClick: choose };
  const offInput = attachInput(mine, canvases.front, canvases.minimap, handlers);
  const offKeys = onKey((event) => timelineKey(event, mine, moved, changeAxis));
  const stop = () => {
    offKeys();
    offInput();
    mineFeed.dispose();
    mine.dispose();
    hover(null, 0, 0);
    scene = null;
    feed = null;
  };
  return { stats: mine.stats, stop };
}

function Picture() {
  const picture = usePicture(["back", "blocks", "front", "minimap"], start);
  const events = device.value?.events ?? 0;
  return (
    <section class="view on" aria-label="Timeline">
      <Head onAxis={changeAxis} onFit={() => scene && fitAll(scene, () => feed?.moved())} />
      <LegendBar />
      <div class="body fill tlbody">
        <div class="plot grow">
          <PictureLayers
            picture={picture}
            id="timeline"
            label={`Allocations stacked over ${integer(events)} ${page.value.axis === "time" ? "events in time" : "steps"}. Arrow up and down select the next block, square brackets the next event.`}
            hasBack
          />
        </div>
        <div class="plot minirow">
          <canvas ref={picture.canvas("minimap")} id="minimap" aria-hidden="true" />
        </div>
      </div>
      <Spoken />
      <Tooltip />
    </section>
  );
}

export function TimelineView() {
  if (!device.value || device.value.events > 0) return <Picture />;
  return (
    <NoHistory title="Timeline" icon="timeline">
      <p>
        It contains the final state, {counted(device.value.segments, "segment")} with{" "}
        {counted(device.value.allocations, "live block")} on {device.value.label}, but no events. A
        timeline needs events. To record them:
      </p>
    </NoHistory>
  );
}
