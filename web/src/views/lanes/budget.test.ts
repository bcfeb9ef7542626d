import { expect, it } from "vitest";
import { FRAME_QUADS } from "../../gl/quad_budget";
import { TILE_COLUMNS } from "../../gl/tile_address";
import { stepDomain } from "../../state/recording/domain";
import { Source } from "../picture/tiles/source";
import type { TileStore } from "../picture/tiles/tile_store";
import { asksOf } from "./budget";
import type { Row } from "./lane_frame";

const MIB = 2 ** 20;

it("lanes zoomed in bytes, cut between two rows of tiles, stay within the quads of a frame", () => {
  const domain = stepDomain(1e7);
  for (const [lanes, height] of [
    [12, 160],
    [3, 1400],
    [2, 2100],
  ] as const) {
    const source = new Source({} as TileStore);
    source.setPlace({ file: 0, device: 0 }, domain);
    const lane = { key: "0/0", offset: 0, domain };
    const rows = Array.from({ length: lanes }, () => ({ lane, height }) as unknown as Row);
    const asks = asksOf({
      rows,
      sourceOf: () => source,
      x: [2_000_000, 8_280_000],
      bytesOf: () => [4 * 2048 * MIB - MIB, 4 * 2048 * MIB + (height - 1) * MIB],
      choiceOf: () => ({ mark: null, filter: null }),
      width: 5000,
    });
    expect(asks).toHaveLength(lanes);
    const least = 2 * TILE_COLUMNS;
    const most = asks.map(({ ask }) => source.count(ask) * Math.max(least, ask.quads));
    expect(most.reduce((sum, one) => sum + one)).toBeLessThanOrEqual(FRAME_QUADS);
  }
});
