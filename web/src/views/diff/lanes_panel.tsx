// The two recordings one above the other, with the places that are compared. A press in a lane
// compares there.
import { computed } from "@preact/signals";
import { diff, laneA, laneB, placeOfB } from "../../state/answers/diff";
import { go, page } from "../../state/page/store";
import type { Lane, SharedAxis } from "../../state/recording/lanes";
import { shareAxis } from "../../state/recording/lanes";
import { Bytes, Name } from "../../ui/text";
import { hoverLane } from "../lanes/actions";
import { LaneFeed } from "../lanes/feed";
import { attachLaneInput } from "../lanes/input";
import type { Place } from "../lanes/lane_frame";
import { LanesScene, type UnderLane } from "../lanes/scene";
import { Tooltip } from "../picture/panels/tooltip";
import type { Canvases, Listener } from "../picture/scene";
import { PictureLayers, usePicture } from "../picture/use_picture";
import { relative } from "../picture/window/window";
import { chosen, shownBy } from "./model";
import { rowFilter } from "./words";

const pair = computed<Lane[]>(() => {
  const [a, b] = [laneA.value, laneB.value];
  if (!a || !b) return [];
  return a.key === b.key ? [a] : [a, b];
});

const axis = computed<SharedAxis>(() =>
  shareAxis(pair.value, page.value.axis, page.value.align, laneA.value?.key ?? ""),
);

/** Where each side is compared, on the axis of its own lane. */
function placesOf(): Map<string, Place[]> {
  const out = new Map<string, Place[]>();
  const answer = diff.value.data;
  const sides = [
    ["A", laneA.value, answer?.a],
    ["B", laneB.value, answer?.b],
  ] as const;
  for (const [name, lane, side] of sides) {
    const { step, time_us } = side?.devices[0] ?? { step: null, time_us: null };
    const domain = axis.value.lanes.find(({ key }) => key === lane?.key)?.domain;
    if (!lane || !domain || step === null || (domain.axis === "time" && time_us === null)) continue;
    const position = domain.axis === "time" ? (time_us ?? 0) - domain.base : step + 0.5;
    const list = out.get(lane.key) ?? [];
    list.push({ position, text: `${name}: ${side?.at ?? ""}` });
    out.set(lane.key, list);
  }
  return out;
}

/** A press compares there: in B if the lane is B's, in A else. */
function compareAt({ lane, under }: UnderLane): void {
  if (!under || !Number.isFinite(under.step)) return;
  const at = `step:${under.step}`;
  const { pa } = page.peek();
  if (lane.key === laneB.peek()?.key) go({ pb: at === pa ? "" : at, row: "", way: [] }, true);
  else go({ pa: at, pb: placeOfB.peek() === at ? "" : placeOfB.peek(), row: "", way: [] }, true);
}

class PairFeed extends LaneFeed {
  constructor(scene: LanesScene) {
    super(scene);
    this.follow(
      () => this.followAxis(),
      () => this.followWindow(axis.peek()),
      () => this.followLook(),
      () => this.followPlaces(),
    );
  }

  private followAxis(): void {
    const next = axis.value;
    const { x, y } = page.peek();
    this.scene.setShared(next, relative(x, next.domain));
    this.scene.lanes = next.lanes;
    this.scene.current = laneA.value?.key ?? "";
    this.scene.y = y;
    this.link.show({ x, y });
    this.scene.redraw();
  }

  /** What the chosen row holds stands out in both. */
  private followLook(): void {
    const { colour } = page.value;
    const [row, by, a] = [chosen.value, shownBy.value, laneA.value?.key];
    this.scene.setLook({
      mode: colour,
      ageAt: (lane) => lane.device.events,
      choice: (lane) => ({
        mark: null,
        filter: row && rowFilter(by, row, lane.key === a ? "a" : "b"),
      }),
      only: false,
    });
  }

  private followPlaces(): void {
    this.scene.places = placesOf();
    this.scene.redraw();
  }
}

function Names() {
  const answer = diff.value.data;
  const [a, b] = [laneA.value, laneB.value];
  const one = a?.key === b?.key;
  const sides = [
    ["A", a, answer?.a],
    ["B", b, answer?.b],
  ] as const;
  const line = (name: string, side: (typeof sides)[number][2]) => (
    <span>
      <b>{name}</b> {side ? <Bytes value={side.active_bytes} /> : "…"} at {side?.at ?? "…"}
    </span>
  );
  return (
    <div class="difflanenames">
      {sides.slice(0, one ? 1 : 2).map(([name, lane, side]) => (
        <div key={name}>
          <span class="mono cut">
            <Name text={lane?.name ?? ""} />
          </span>
          <span class="faint">{lane?.device.label}</span>
          {line(name, side)}
          {one && line("B", answer?.b)}
        </div>
      ))}
    </div>
  );
}

function start(canvases: Canvases, listener: Listener, allowGl: boolean) {
  let feed: PairFeed | null = null;
  const scene = new LanesScene(canvases, listener, (rows) => feed?.wantBands(rows), allowGl);
  const mine = new PairFeed(scene);
  feed = mine;
  const hover = (at: UnderLane | null, x: number, y: number) => hoverLane(scene, at, x, y);
  const off = attachLaneInput(scene, canvases.front, canvases.minimap, {
    onMoved: () => mine.moved(),
    onHover: hover,
    onClick: compareAt,
    onOpen: () => {},
  });
  const stop = () => {
    off();
    hover(null, 0, 0);
    mine.dispose();
    scene.dispose();
  };
  return { stats: scene.stats, stop };
}

export function LanesPanel() {
  const picture = usePicture(["back", "blocks", "front", "minimap"], start);
  const failed = picture.error.value?.what ?? "";
  return (
    <div class="difflanes">
      <Names />
      <div class="plot">
        <PictureLayers
          picture={picture}
          id="difflanes"
          label="A and B one above the other, allocations stacked. A click compares there; dragging and the wheel move the window."
          hasBack
          error={null}
        >
          <canvas ref={picture.canvas("minimap")} class="vh" aria-hidden="true" />
          {failed !== "" && <p class="overlay dim">{failed}</p>}
        </PictureLayers>
      </div>
      <Tooltip />
    </div>
  );
}
