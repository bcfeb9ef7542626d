// Phases of the lanes: asked once for each that is high enough to show them, anew after a failure.
import { getJson } from "../../api/client";
import type { Annotation, Annotations } from "../../api/contract";
import { RETRY_AFTER_MS } from "../../gl/answer_cache";
import { attempt } from "../../state/page/notes";
import { placeOfLane } from "../../state/recording/lanes";
import { drawable } from "../picture/layers/bands";
import { type Row, TALL } from "./lane_frame";

export class LaneBands {
  private readonly asked = new Set<string>();
  private readonly off = new AbortController();

  constructor(private readonly onBands: (key: string, list: readonly Annotation[]) => void) {}

  dispose(): void {
    this.off.abort();
  }

  want(rows: readonly Row[]): void {
    for (const row of rows) {
      const { key, domain } = row.lane;
      if (row.bottom - row.top < TALL || !domain || this.asked.has(key)) continue;
      this.asked.add(key);
      attempt(this.ask(row));
    }
  }

  private async ask({ lane }: Row): Promise<void> {
    const { signal } = this.off;
    const params = placeOfLane(lane);
    try {
      const { rows } = await getJson<Annotations>("annotations", params, signal);
      if (!signal.aborted) this.onBands(lane.key, drawable(rows));
    } catch (error) {
      // not with every frame that is drawn meanwhile
      setTimeout(() => this.asked.delete(lane.key), RETRY_AFTER_MS);
      throw error;
    }
  }
}
