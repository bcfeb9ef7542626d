// Feeds the map from the state of the page, and the state from the map.
import type { Oom } from "../../api/contract";
import type { Ranges } from "../../api/map";
import { passing } from "../../state/answers/filters";
import { mark } from "../../state/answers/marks";
import type { Range } from "../../state/link/url";
import { cursorPosition, selection } from "../../state/page/cursor";
import { carried, device, follow, page, place } from "../../state/page/store";
import { domainOf } from "../../state/recording/domain";
import { followMarks, PictureFeed } from "../picture/feed";
import { absolute, lifeOf, relative, reveal, withMargin } from "../picture/window/window";
import { type AddressAxis, placeOf } from "./axis";
import type { MapRect } from "./frame";
import type { MapScene } from "./scene";

export const ranges = follow<Ranges>(() =>
  place.value && page.value.view === "map" && (device.value?.events ?? 0) > 0
    ? { path: "ranges", params: { ...place.value, y: page.value.whole ? "plain" : "owned" } }
    : null,
);

const MAX_OOMS = 32;

/**
 * The small blocks have no flag of their own: what was live at an out-of-memory is asked as a
 * filter.
 */
function liveAtOoms(ooms: readonly Oom[]): string {
  if (ooms.length === 0) return "";
  const steps = [...ooms].sort((a, b) => (b.requested_bytes ?? 0) - (a.requested_bytes ?? 0));
  return `live:${steps
    .slice(0, MAX_OOMS)
    .map((one) => one.step)
    .join(",")}`;
}

export class MapFeed extends PictureFeed<MapScene, "x" | "ay"> {
  constructor(scene: MapScene) {
    super(scene);
    this.follow(
      () => this.followPlace(),
      () => this.followWindow(),
      () => followMarks(this.scene),
      () => this.followLook(),
      () => this.followCursor(),
      () => this.followSelection(),
    );
  }

  protected windowNow() {
    const { subject, target } = this.scene;
    if (!subject) return null;
    const { x, y } = target;
    const all = y[0] <= 0 && y[1] >= subject.axis.bytes * (1 - 1e-6);
    const ay: Range | null = all ? null : [Math.round(y[0]), Math.round(y[1])];
    return { x: absolute(x, subject.domain), ay };
  }

  private followPlace(): void {
    const [at, of, answer] = [place.value, device.value, ranges.value.data];
    const { axis: horizontal, whole } = page.value;
    if (!at || !of || !answer) return;
    const domain = domainOf(of, horizontal);
    const known = this.scene.subject;
    const axis: AddressAxis = {
      bytes: answer.axis_bytes,
      ranges: answer.rows,
      cut: answer.total > answer.rows.length,
    };
    if (
      known?.device === of &&
      known.domain.axis === domain.axis &&
      known.axis.ranges === axis.ranges
    ) {
      return;
    }
    const { x, ay } = page.peek();
    this.link.show({ x, ay });
    const subject = { place: at, device: of, domain, axis, plain: whole };
    const same = known?.place.file === at.file && known.place.device === at.device;
    if (same && known.domain.axis === domain.axis && known.plain === whole) {
      // ranges of the reading before are kept until those of this one are here
      if (ranges.value.loading) return;
      this.scene.grow(subject);
    } else {
      this.scene.setSubject(subject, relative(x, domain), ay);
    }
    this.followSelection();
  }

  private followWindow(): void {
    const { x, ay } = page.value;
    const { subject } = this.scene;
    if (!subject || !this.link.isNews({ x, ay })) return;
    const { domain, axis } = subject;
    this.scene.moveTo(relative(x, domain) ?? [0, domain.room], ay ?? [0, axis.bytes], true);
  }

  private followLook(): void {
    const of = mark.value;
    const look = of === null ? "none" : page.value.only ? "only" : "fade";
    // one filter at a time: what the user lets pass comes first, then small blocks stay as they are
    const live = page.value.red ? liveAtOoms(device.value?.ooms ?? []) : "";
    const filter = passing.value ?? live;
    this.scene.setLook(
      {
        mode: page.value.hue,
        mark: look,
        red: live !== "",
        redCells: live !== "" && filter === live,
      },
      { ...(of ? { mark: of.number } : {}), ...(filter === "" ? {} : { filter }) },
    );
  }

  private followCursor(): void {
    const of = device.value;
    const { at, axis } = page.value;
    this.scene.cursor = of && at !== null ? cursorPosition(domainOf(of, axis)) : null;
    const { cursor, subject } = this.scene;
    if (cursor !== null && subject && at !== this.seen.at) {
      const { x, y } = this.scene.target;
      if (cursor < x[0] || cursor > x[1]) {
        this.scene.moveTo(reveal(x, cursor, subject.domain), y, true);
        this.moved();
      }
    }
    this.seen.at = at;
    this.scene.redraw();
  }

  private followSelection(): void {
    const chosen = page.value.sel === null ? null : selection.value.data;
    this.scene.selected = chosen === null ? null : this.rectOf(chosen);
    this.scene.redraw();
    const { selected } = this.scene;
    if (!chosen || !selected || chosen.id === this.seen.sel) return;
    this.seen.sel = chosen.id;
    if (chosen.id === carried.sel) return;
    this.revealRect(selected);
  }

  private rectOf(of: NonNullable<typeof selection.value.data>): MapRect | null {
    const { subject } = this.scene;
    if (!subject || of.device !== subject.device.ordinal) return null;
    const low = placeOf(subject.axis, of.address);
    return low === null ? null : { x: lifeOf(of, subject.domain), y: [low, low + of.block_bytes] };
  }

  /** As little as needed, and only if nothing of it is seen. */
  private revealRect({ x, y }: MapRect): void {
    const { target, subject } = this.scene;
    if (!subject) return;
    const beside = x[1] < target.x[0] || x[0] > target.x[1];
    const away = y[1] < target.y[0] || y[0] > target.y[1];
    if (!beside && !away) return;
    const middle = (y[0] + y[1]) / 2;
    const half = (target.y[1] - target.y[0]) / 2;
    this.scene.moveTo(
      beside ? reveal(target.x, x[0], subject.domain) : target.x,
      away ? [middle - half, middle + half] : target.y,
      true,
    );
    this.moved();
  }

  /** The selected rectangle with a quarter of its size around it. */
  zoomToSelection(): void {
    const { selected, subject } = this.scene;
    if (!selected || !subject) return;
    const x = withMargin(selected.x, subject.domain.least);
    this.scene.moveTo(x, withMargin(selected.y, 65536), true);
    this.moved();
  }
}
