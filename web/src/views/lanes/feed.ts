// Feeds the lanes from the state of the page, and the state from the lanes.

import { passing } from "../../state/answers/filters";
import { mark } from "../../state/answers/marks";
import { withoutFileTerms } from "../../state/link/filter_terms";
import { selection } from "../../state/page/cursor";
import { file, page } from "../../state/page/store";
import { type PlacedLane, placeOfLane, type SharedAxis } from "../../state/recording/lanes";
import { PictureFeed } from "../picture/feed";
import { Outline } from "../picture/layers/outline";
import { absolute, grown, lifeOf, relative, reveal, withMargin } from "../picture/window/window";
import { shift } from "./budget";
import { LaneBands } from "./lane_bands";
import type { Row } from "./lane_frame";
import { current, currentKey, cursor, ordered, shared, values } from "./model";
import type { LanesScene } from "./scene";

/** What every picture of lanes is fed with: its window, and the phases of its lanes. */
export abstract class LaneFeed extends PictureFeed<LanesScene, "x" | "y"> {
  private readonly bands = new LaneBands((key, list) => {
    this.scene.annotations.set(key, list);
    this.scene.redraw();
  });

  override dispose(): void {
    super.dispose();
    this.bands.dispose();
  }

  /** Phases, where lanes are high enough to show them. */
  wantBands(rows: readonly Row[]): void {
    this.bands.want(rows);
  }

  protected windowNow() {
    const { domain, target, y } = this.scene;
    return domain ? { x: absolute(target, domain), y } : null;
  }

  /** Another window came with the URL. */
  protected followWindow(axis: SharedAxis): void {
    const { x, y } = page.value;
    const { domain } = this.scene;
    if (!domain || !this.link.isNews({ x, y })) return;
    this.scene.y = y;
    this.scene.moveTo(relative(x, axis.domain) ?? [0, domain.room], true);
    this.windowWritten();
  }
}

export class LanesFeed extends LaneFeed {
  private readonly outline = new Outline(this.scene);

  constructor(scene: LanesScene) {
    super(scene);
    this.follow(
      () => this.followShared(),
      () => this.followOrder(),
      () => this.followWindow(shared.peek()),
      () => this.followLook(),
      () => this.followCursor(),
      () => this.followSelection(),
    );
  }

  override dispose(): void {
    super.dispose();
    this.outline.dispose();
  }

  protected override windowWritten(): void {
    this.askShape();
  }

  zoomToSelection(): void {
    const chosen = selection.peek().data;
    const lane = current.peek();
    const { domain } = this.scene;
    if (!chosen || !domain || !lane?.domain) return;
    const x = withMargin(lifeOf(chosen, lane.domain), domain.least);
    this.scene.moveTo(shift(x, lane.offset), true);
    this.moved();
  }

  private followShared(): void {
    const next = shared.value;
    const known = this.scene.shared;
    const { x, y } = page.peek();
    // another lane to speak of is no other axis: the window stays
    const same =
      known !== null && known.align === next.align && known.domain.axis === next.domain.axis;
    const kept = same ? grown(this.scene.target, known.domain, next.domain) : null;
    this.scene.setShared(next, kept ?? relative(x, next.domain));
    if (same) return;
    this.scene.y = y;
    this.link.show({ x, y });
  }

  private followOrder(): void {
    this.scene.lanes = ordered.value;
    this.scene.current = currentKey.value;
    this.scene.redraw();
  }

  private followLook(): void {
    const { colour, only, own } = page.value;
    const steps = values.value;
    const [of, filter, mine] = [mark.value, passing.value, file.value?.id];
    const elsewhere = filter === null ? null : withoutFileTerms(filter) || null;
    this.scene.own = own;
    this.scene.setLook({
      mode: colour,
      ageAt: (lane: PlacedLane) => steps.get(lane.key)?.step ?? lane.device.events,
      // what is found, and numbers in a filter, are of one file
      choice: (lane: PlacedLane) =>
        lane.file === mine
          ? { mark: of?.number ?? null, filter }
          : { mark: null, filter: elsewhere },
      only,
    });
  }

  private followCursor(): void {
    const at = cursor.value;
    const { scene } = this;
    const middle = shared.value.domain.axis === "step" ? 0.5 : 0;
    scene.cursor = at === null ? null : at + middle;
    const { domain, target } = scene;
    const away = at !== null && (at < target[0] || at > target[1]);
    if (domain && away && page.value.at !== this.seen.at) {
      scene.moveTo(reveal(target, at, domain), true);
      this.moved();
    }
    this.seen.at = page.value.at;
    scene.redraw();
  }

  private followSelection(): void {
    this.scene.selected = page.value.sel;
    this.scene.shape = null;
    this.outline.dispose();
    this.scene.redraw();
    if (selection.value.data && current.value) this.askShape();
  }

  private askShape(): void {
    const lane = current.peek();
    const { target } = this.scene;
    if (!lane?.domain) return;
    const place = placeOfLane(lane);
    const x = [target[0] - lane.offset, target[1] - lane.offset] as const;
    const subject = { place, device: lane.device, domain: lane.domain };
    this.outline.ask(selection.peek().data, subject, x);
  }
}

/** For the inspector and the legend: the step under the pointer, if it is the page's own lane. */
export function stepFor(lane: PlacedLane, step: number): { step: number; time_us: null } | null {
  return lane.key === currentKey.peek() && Number.isFinite(step) ? { step, time_us: null } : null;
}
