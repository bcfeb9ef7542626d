// How each lane is coloured. The palette is the same in all of them; ages count to a step of each,
// and what is marked or filtered belongs to some.
import type { LegendBy } from "../../api/contract";
import { palette } from "../../gl/colours";
import { type Look, NO_FILTER, parseRgba } from "../../gl/painter";
import type { PlacedLane } from "../../state/recording/lanes";
import { Tokens } from "../../ui/plot";
import { isDark } from "../picture/scene";
import type { Choice } from "../picture/tiles/source";

/** What the page wants. */
export interface LaneLook {
  mode: LegendBy;
  /** the step that ages count to */
  ageAt: (lane: PlacedLane) => number;
  choice: (lane: PlacedLane) => Choice;
  only: boolean;
}

const NOTHING_CHOSEN: Choice = { mark: null, filter: null };

export class LaneLooks {
  tokens = new Tokens();
  private wanted: LaneLook | null = null;
  private readonly made = new Map<string, Look>();

  set(wanted: LaneLook): void {
    this.wanted = wanted;
    this.made.clear();
  }

  themeChanged(): void {
    this.tokens = new Tokens();
    this.made.clear();
  }

  choice(lane: PlacedLane): Choice {
    return this.wanted?.choice(lane) ?? NOTHING_CHOSEN;
  }

  of(lane: PlacedLane): Look {
    const known = this.made.get(lane.key);
    if (known) return known;
    const { wanted } = this;
    const marked = this.choice(lane).mark !== null;
    const look: Look = {
      palette: palette(this.tokens.get, isDark()),
      seam: parseRgba(this.tokens.get("seam")),
      by: {
        mode: wanted?.mode ?? "stack",
        ageAt: wanted?.ageAt(lane) ?? 0,
        steps: Math.max(1, lane.device.events),
      },
      filter: NO_FILTER,
      mark: !marked ? "none" : wanted?.only ? "only" : "fade",
    };
    this.made.set(lane.key, look);
    return look;
  }
}
