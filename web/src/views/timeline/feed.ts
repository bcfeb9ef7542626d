// Feeds the scene from the state of the page, and the state from the scene.
import { getJson } from "../../api/client";
import type { StateAt } from "../../api/contract";
import { passing } from "../../state/answers/filters";
import { mark } from "../../state/answers/marks";
import type { Range } from "../../state/link/url";
import { cursorPosition, legend, legendStep, selection } from "../../state/page/cursor";
import { carried, device, go, page, place } from "../../state/page/store";
import { domainOf } from "../../state/recording/domain";
import { followMarks, PictureFeed } from "../picture/feed";
import { Outline } from "../picture/layers/outline";
import { filterOf, hiddenKeys } from "../picture/panels/legend_bar";
import { absolute, isEverything, lifeOf, relative, reveal } from "../picture/window/window";
import type { TimelineScene } from "./scene";

export class TimelineFeed extends PictureFeed<TimelineScene, "x" | "y"> {
  private readonly outline = new Outline(this.scene);

  constructor(scene: TimelineScene) {
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

  override dispose(): void {
    super.dispose();
    this.outline.dispose();
  }

  protected windowNow() {
    const domain = this.scene.subject?.domain;
    if (!domain) return null;
    return { x: absolute(this.scene.target, domain), y: this.scene.y };
  }

  protected override windowWritten(): void {
    this.askShape();
  }

  private followPlace(): void {
    const [at, of] = [place.value, device.value];
    const axis = page.value.axis;
    if (!at || !of) return;
    const known = this.scene.subject;
    if (known?.device === of && known.domain.axis === domainOf(of, axis).axis) return;
    const domain = domainOf(of, axis);
    const { x, y } = page.peek();
    this.link.show({ x, y });
    const samePlace = known?.place.file === at.file && known.place.device === at.device;
    if (samePlace && known.place.gen !== at.gen && known.domain.axis === domain.axis) {
      this.scene.grow({ place: at, device: of, domain });
      return;
    }
    this.scene.setSubject({ place: at, device: of, domain }, relative(x, domain), y);
    this.askShape();
  }

  private followWindow(): void {
    const { x, y } = page.value;
    const domain = this.scene.subject?.domain;
    if (!domain || !this.link.isNews({ x, y })) return;
    this.scene.y = y;
    this.scene.moveTo(relative(x, domain) ?? [0, domain.room], true);
    this.askShape();
  }

  private followLook(): void {
    const rows = legend.value.data?.rows ?? [];
    const of = mark.value;
    this.scene.setLook(
      page.value.colour,
      page.value.colour === "age" ? legendStep.value : 0,
      filterOf(rows, hiddenKeys()),
      { mark: of?.number ?? null, filter: passing.value },
      page.value.only,
    );
  }

  private followCursor(): void {
    const of = device.value;
    this.scene.cursor =
      of && this.scene.subject && page.value.at !== null
        ? cursorPosition(domainOf(of, page.value.axis))
        : null;
    const { cursor } = this.scene;
    if (cursor !== null && page.value.at !== this.seen.at) this.reveal(cursor, cursor);
    if (cursor !== null || page.value.at === null) this.seen.at = page.value.at;
    this.scene.redraw();
  }

  /** Brings [low, high] into view if nothing of it is. */
  private reveal(low: number, high: number): void {
    const { subject, target } = this.scene;
    if (!subject || (high >= target[0] && low <= target[1])) return;
    this.scene.moveTo(reveal(target, low, subject.domain), true);
    this.moved();
  }

  private followSelection(): void {
    const same = this.scene.selected === page.value.sel;
    this.scene.selected = page.value.sel;
    // of a recording that has grown: until the new one is here
    if (!same) this.scene.shape = null;
    this.outline.dispose();
    this.scene.redraw();
    const chosen = selection.value.data;
    const { subject } = this.scene;
    if (!chosen || !subject) return;
    const isNew = chosen.id !== this.seen.sel && chosen.id !== carried.sel;
    if (chosen.device === subject.device.ordinal && isNew) {
      this.reveal(...lifeOf(chosen, subject.domain));
    }
    this.seen.sel = chosen.id;
    this.askShape();
  }

  private askShape(): void {
    const { subject, target } = this.scene;
    if (subject) this.outline.ask(selection.peek().data, subject, target);
  }
}

/** The same range on the other axis; the server knows which step happened when. */
export async function otherAxis(scene: TimelineScene): Promise<void> {
  const { subject } = scene;
  if (!subject) return;
  const next = subject.domain.axis === "step" ? "time" : "step";
  const to = domainOf(subject.device, next);
  if (isEverything(scene.target, subject.domain)) {
    go({ axis: next, x: null, y: scene.y });
    return;
  }
  const ask = (position: number) =>
    getJson<StateAt>("at", {
      ...subject.place,
      axis: subject.domain.axis,
      x: subject.domain.base + Math.min(subject.domain.end - 1, Math.max(0, position)),
    });
  const [low, high] = await Promise.all([ask(scene.target[0]), ask(scene.target[1])]);
  const value = (state: StateAt) => (next === "step" ? state.step : (state.time_us ?? to.base));
  const range: Range = [value(low), Math.max(value(low) + to.least, value(high))];
  go({ axis: next, x: range, y: scene.y });
}
