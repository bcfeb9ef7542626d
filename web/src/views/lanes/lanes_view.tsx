// Recordings side by side: ranks, devices, before and after. One picture of all of them.
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { onKey } from "../../state/page/keys";
import { hoverStep } from "../../state/page/store";
import { laneLayout } from "../../state/recording/lane_order";
import type { PlacedLane } from "../../state/recording/lanes";
import { counted } from "../../text/units";
import { chooseBlock } from "../picture/input/choose";
import { fitAll } from "../picture/input/moves";
import { LegendBar } from "../picture/panels/legend_bar";
import { Spoken } from "../picture/panels/spoken";
import { Tooltip } from "../picture/panels/tooltip";
import type { Canvases, Listener } from "../picture/scene";
import { PictureLayers, usePicture } from "../picture/use_picture";
import { chooseLane, hoverLane, lanePatch, openLane } from "./actions";
import { LanesFeed, stepFor } from "./feed";
import { attachLaneInput } from "./input";
import { laneKeyPressed } from "./keys";
import type { Row } from "./lane_frame";
import { LaneFoot, LaneList } from "./lane_list";
import { LanesHead } from "./lanes_head";
import { currentKey, lanes, ordered, shared } from "./model";
import { LanesScene, type UnderLane } from "./scene";
import { followValues } from "./values";

let scene: LanesScene | null = null;

function choose({ lane, under }: UnderLane): void {
  if (!scene) return;
  const other = lane.key !== currentKey.peek();
  const more = other ? lanePatch(lane, scene.target) : {};
  if (under && !Number.isNaN(under.step)) {
    const place = { file: lane.file, device: lane.device.ordinal };
    chooseBlock(place, under, { ...more, t: null });
  } else chooseLane(lane, scene.target);
}

function hover(at: UnderLane | null, x: number, y: number): void {
  if (!scene) return;
  hoverStep.value = at?.under ? stepFor(at.lane, at.under.step) : null;
  hoverLane(scene, at, x, y);
}

const open = (lane: PlacedLane) => scene && openLane(lane, scene.target);

/** "rank 0, GPU 0": the lane that the page is about. */
function currentName(): string {
  const lane = shared.value.lanes.find(({ key }) => key === currentKey.value);
  return lane ? `${lane.name}, ${lane.device.label}` : "";
}

export function LanesView() {
  const box = useRef<HTMLDivElement>(null);
  /** of the list of names: how far it is scrolled, how high it is, how wide its bar */
  const list = useSignal({ top: 0, height: 0, bar: 0 });
  const feed = useRef<LanesFeed | null>(null);
  const layout = laneLayout(ordered.value.length, list.value.height, list.value.top);

  const reveal = (lane: PlacedLane) => {
    const el = box.current;
    const index = ordered.peek().findIndex(({ key }) => key === lane.key);
    if (!el || index < 0) return;
    const { height } = laneLayout(ordered.peek().length, el.clientHeight, el.scrollTop);
    const low = (index + 1) * height - el.clientHeight;
    el.scrollTop = Math.max(low, Math.min(el.scrollTop, index * height));
  };

  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    const measure = () => {
      const bar = el.offsetWidth - el.clientWidth;
      const { top, height, bar: before } = list.peek();
      if (el.clientHeight !== height || bar !== before) {
        list.value = { top, height: el.clientHeight, bar };
      }
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(el);
    return () => observer.disconnect();
  }, [list]);

  const start = (canvases: Canvases, listener: Listener, allowGl: boolean) => {
    const onRows = (rows: readonly Row[]) => feed.current?.wantBands(rows);
    const mine = new LanesScene(canvases, listener, onRows, allowGl);
    scene = mine;
    const mineFeed = new LanesFeed(mine);
    feed.current = mineFeed;
    const offValues = followValues();
    const moved = () => mineFeed.moved();
    const handlers = { onMoved: moved, onHover: hover, onClick: choose, onOpen: open };
    const offInput = attachLaneInput(mine, canvases.front, canvases.minimap, handlers);
    const zoomToSelection = () => mineFeed.zoomToSelection();
    const offKeys = onKey((event) =>
      laneKeyPressed(event, mine, { moved, reveal, zoomToSelection }),
    );
    const here = ordered.peek().find(({ key }) => key === currentKey.peek());
    if (here) reveal(here);
    const stop = () => {
      offKeys();
      offInput();
      offValues();
      mineFeed.dispose();
      mine.dispose();
      hover(null, 0, 0);
      scene = null;
      feed.current = null;
    };
    return { stats: mine.stats, stop };
  };
  const picture = usePicture(["back", "blocks", "front", "minimap"], start);

  const name = currentName();
  return (
    <section class="view on" aria-label="Side by side">
      <LanesHead onFit={() => scene && fitAll(scene, () => feed.current?.moved())} />
      <LegendBar still />
      <div class="body fill lanesbody">
        <div class="lanesbox">
          <LaneList
            box={box}
            list={ordered.value}
            layout={layout}
            onScroll={(top) => {
              list.value = { ...list.peek(), top };
              if (scene) {
                scene.scrollTop = top;
                scene.redraw();
              }
            }}
            onChoose={(lane) => scene && chooseLane(lane, scene.target)}
            onOpen={open}
          />
          <LaneFoot />
          <div class="lanespic plot" style={{ right: `${list.value.bar}px` }}>
            <PictureLayers
              picture={picture}
              id="lanes"
              label={`${counted(lanes.value.length, "recording")} one above the other, allocations stacked over ${shared.value.domain.axis === "time" ? "time" : "steps"}. Arrow up and down select the next lane, with Shift the next block, Enter opens the lane alone.`}
              hasBack
            />
          </div>
        </div>
        <div class="plot minirow lanesmini">
          <canvas ref={picture.canvas("minimap")} id="minimap" aria-hidden="true" />
        </div>
      </div>
      <Spoken place={() => ` in ${name}`} otherwise={`Lane ${name}`} />
      <Tooltip />
    </section>
  );
}
