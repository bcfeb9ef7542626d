// Recordings side by side: ranks, devices, before and after. One picture of all of them.
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { type ApiError, asApiError } from "../../api/client";
import { glAllowed } from "../../gl/glass";
import { selection } from "../../state/page/cursor";
import { onKey } from "../../state/page/keys";
import { drawnBy, go, hoverStep, pictured, tileMs } from "../../state/page/store";
import { laneLayout } from "../../state/recording/lane_order";
import type { PlacedLane } from "../../state/recording/lanes";
import { bytesText, counted } from "../../text/units";
import { ErrorNotice } from "../../ui/notice";
import { chooseBlock } from "../picture/input/choose";
import { showEverything } from "../picture/input/moves";
import { LegendBar } from "../picture/panels/legend_bar";
import { showTip, Tooltip } from "../picture/panels/tooltip";
import { chooseLane, lanePatch, openLane } from "./actions";
import { LanesFeed, stepFor } from "./feed";
import { attachLaneInput } from "./input";
import { laneKeyPressed } from "./keys";
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
  const { lane, under } = at ?? { lane: null, under: null };
  const quad = under?.quad ?? null;
  scene.hover =
    lane && under
      ? { position: under.position + lane.offset, lane: lane.key, id: quad?.id ?? null }
      : null;
  hoverStep.value = lane && under ? stepFor(lane, under.step) : null;
  showTip(lane && under ? { file: lane.file, under, x, y } : null);
  scene.redraw();
}

const open = (lane: PlacedLane) => scene && openLane(lane, scene.target);

function Spoken() {
  const of = selection.value.data;
  const lane = shared.value.lanes.find(({ key }) => key === currentKey.value);
  const name = lane ? `${lane.name}, ${lane.device.label}` : "";
  return (
    <p class="vh" role="status">
      {of
        ? `Selected allocation ${of.address_id}, ${bytesText(of.block_bytes)}, in ${name}`
        : `Lane ${name}`}
    </p>
  );
}

export function LanesView() {
  const [back, glass, front, minimap] = [
    useRef<HTMLCanvasElement>(null),
    useRef<HTMLCanvasElement>(null),
    useRef<HTMLCanvasElement>(null),
    useRef<HTMLCanvasElement>(null),
  ];
  const box = useRef<HTMLDivElement>(null);
  const error = useSignal<ApiError | null>(null);
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

  useEffect(() => {
    const [b, g, f, m] = [back, glass, front, minimap].map((ref) => ref.current);
    if (!b || !g || !f || !m) return;
    const mine = new LanesScene(
      { back: b, glass: g, front: f, minimap: m },
      {
        onArrival: (ms) => {
          tileMs.value = ms;
          error.value = null;
          pictured.value = true;
        },
        onError: (reason) => {
          error.value = asApiError(reason);
          pictured.value = true;
        },
        onDrawnBy: (name) => {
          drawnBy.value = name;
        },
        onRows: (rows) => feed.current?.wantBands(rows),
      },
      glAllowed(),
    );
    scene = mine;
    window.tidegaugeStats = mine.stats;
    const mineFeed = new LanesFeed(mine);
    feed.current = mineFeed;
    const offValues = followValues();
    const moved = () => mineFeed.moved();
    const hands = { onMoved: moved, onHover: hover, onClick: choose, onOpen: open };
    const offInput = attachLaneInput(mine, f, m, hands);
    const zoomToSelection = () => mineFeed.zoomToSelection();
    const offKeys = onKey((event) =>
      laneKeyPressed(event, mine, { moved, reveal, zoomToSelection }),
    );
    const here = ordered.peek().find(({ key }) => key === currentKey.peek());
    if (here) reveal(here);
    return () => {
      offKeys();
      offInput();
      offValues();
      mineFeed.dispose();
      mine.dispose();
      hover(null, 0, 0);
      scene = null;
      feed.current = null;
    };
  }, []);

  const fit = () => {
    if (!scene) return;
    scene.y = null;
    go({ y: null });
    showEverything(scene, () => feed.current?.moved());
  };
  return (
    <section class="view on" aria-label="Side by side">
      <LanesHead onFit={fit} />
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
            <canvas ref={back} aria-hidden="true" />
            <canvas ref={glass} class="glass" aria-hidden="true" />
            <canvas
              ref={front}
              id="lanes"
              class="front"
              tabIndex={0}
              role="img"
              aria-label={`${counted(lanes.value.length, "recording")} one above the other, allocations stacked over ${shared.value.domain.axis === "time" ? "time" : "steps"}. Arrow up and down go from lane to lane, with Shift from block to block, Enter opens one alone.`}
            />
            {error.value && (
              <div class="overlay">
                <ErrorNotice error={error.value} />
              </div>
            )}
          </div>
        </div>
        <div class="plot minirow lanesmini">
          <canvas ref={minimap} id="minimap" aria-hidden="true" />
        </div>
      </div>
      <Spoken />
      <Tooltip />
    </section>
  );
}
