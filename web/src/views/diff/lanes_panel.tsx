// The two recordings one above the other, with the places that are compared. A press in a lane
// compares there.
import { computed, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { asApiError } from "../../api/client";
import { glAllowed } from "../../gl/glass";
import { diff, laneA, laneB, placeOfB } from "../../state/answers/diff";
import { drawnBy, go, page, pictured, tileMs } from "../../state/page/store";
import { theme } from "../../state/page/theme";
import { WindowLink } from "../../state/page/window_link";
import type { Lane, SharedAxis } from "../../state/recording/lanes";
import { shareAxis } from "../../state/recording/lanes";
import { Bytes, Name } from "../../ui/text";
import { attachLaneInput } from "../lanes/input";
import { LaneBands } from "../lanes/lane_bands";
import type { Place } from "../lanes/lane_frame";
import { LanesScene, type UnderLane } from "../lanes/scene";
import { showTip, Tooltip } from "../picture/panels/tooltip";
import { absolute, relative } from "../picture/window/window";
import { chosen, shownBy } from "./model";
import { rowFilter } from "./words";

const failure = signal("");

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

class PairFeed {
  private readonly link = new WindowLink<"x" | "y">(() => {
    const { domain, target, y } = this.scene;
    return domain ? { x: absolute(target, domain), y } : null;
  });
  readonly bands = new LaneBands((key, list) => {
    this.scene.annotations.set(key, list);
    this.scene.redraw();
  });

  constructor(private readonly scene: LanesScene) {
    this.link.follow(
      () => this.followAxis(),
      () => this.followWindow(),
      () => this.followLook(),
      () => this.followPlaces(),
      () => {
        void theme.value;
        this.scene.themeChanged();
      },
    );
  }

  dispose(): void {
    this.link.dispose();
    this.bands.dispose();
  }

  moved(): void {
    this.link.moved();
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

  private followWindow(): void {
    const { x, y } = page.value;
    const { domain } = this.scene;
    if (!domain || !this.link.isNews({ x, y })) return;
    this.scene.y = y;
    this.scene.moveTo(relative(x, axis.peek().domain) ?? [0, domain.room], true);
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

export function LanesPanel() {
  const back = useRef<HTMLCanvasElement>(null);
  const glass = useRef<HTMLCanvasElement>(null);
  const front = useRef<HTMLCanvasElement>(null);
  const minimap = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const [b, g, f, m] = [back, glass, front, minimap].map((ref) => ref.current);
    if (!b || !g || !f || !m) return;
    let feed: PairFeed | null = null;
    const scene = new LanesScene(
      { back: b, glass: g, front: f, minimap: m },
      {
        onArrival: (ms) => {
          tileMs.value = ms;
          failure.value = "";
          pictured.value = true;
        },
        onError: (reason) => {
          failure.value = asApiError(reason).what;
        },
        onDrawnBy: (name) => {
          drawnBy.value = name;
        },
        onRows: (rows) => feed?.bands.want(rows),
      },
      glAllowed(),
    );
    const mine = new PairFeed(scene);
    feed = mine;
    window.tidegaugeStats = scene.stats;
    const hover = (at: UnderLane | null, x: number, y: number) => {
      const { lane, under } = at ?? { lane: null, under: null };
      scene.hover =
        lane && under
          ? {
              position: under.position + lane.offset,
              lane: lane.key,
              id: under.quad?.id ?? null,
            }
          : null;
      showTip(lane && under ? { file: lane.file, under, x, y } : null);
      scene.redraw();
    };
    const offInput = attachLaneInput(scene, f, m, {
      onMoved: () => mine.moved(),
      onHover: hover,
      onClick: compareAt,
      onOpen: () => {},
    });
    return () => {
      offInput();
      hover(null, 0, 0);
      mine.dispose();
      scene.dispose();
    };
  }, []);
  return (
    <div class="difflanes">
      <Names />
      <div class="plot">
        <canvas ref={back} aria-hidden="true" />
        <canvas ref={glass} class="glass" aria-hidden="true" />
        <canvas
          ref={front}
          id="difflanes"
          class="front"
          tabIndex={0}
          role="img"
          aria-label="A and B one above the other, allocations stacked. A press compares there; dragging and the wheel move the window."
        />
        <canvas ref={minimap} class="vh" aria-hidden="true" />
        {failure.value !== "" && <p class="overlay dim">{failure.value}</p>}
      </div>
      <Tooltip />
    </div>
  );
}
