import { describe, expect, it } from "vitest";
import { MapFlag, type MapQuad } from "../api/map";
import { FILTERED, OLDER_SLOT, SIZE_RAMP } from "./colour_rules";
import {
  cellColour,
  MAP_PALETTE_SIZE,
  type MapLook,
  mapColourIndex,
  mapFill,
  mapPalette,
  RED_RAMP,
  RED_SMALL,
  rampOf,
  SMALL,
} from "./map_painter";
import { MAP_QUAD_VERTEX, PLANE_FRAGMENT } from "./map_shader";

const QUAD: MapQuad = {
  column0: 0,
  column1: 1,
  low: 0,
  high: 1,
  id: 1,
  stack: 2,
  provenance: 0,
  flags: 0,
  stackSlot: 4,
  categorySlot: 2,
  stream: 9,
  pool: 255,
  log2Bytes: 20,
};
const LOOK: MapLook = {
  palette: Array.from({ length: MAP_PALETTE_SIZE }, (_, i) => [i, i, i] as const),
  tint: [250, 240, 200],
  outline: [1, 2, 3],
  mode: "size",
  ramp: [8, 22],
  red: false,
  redCells: false,
  mark: "none",
};

describe("the colours of the map", () => {
  it("fill the palette that the shaders declare", () => {
    expect(mapPalette(() => "#123456", false)).toHaveLength(MAP_PALETTE_SIZE);
    for (const source of [MAP_QUAD_VERTEX, PLANE_FRAGMENT]) {
      expect(source).toContain(`u_palette[${MAP_PALETTE_SIZE}]`);
    }
  });
  it("follow what is asked for", () => {
    const index = (mode: MapLook["mode"], quad = QUAD) => mapColourIndex(quad, { ...LOOK, mode });
    expect(index("size")).toBe(SIZE_RAMP + 6);
    expect(index("stack")).toBe(4);
    expect(index("category")).toBe(2);
    expect(index("stream")).toBe(2);
    expect(index("pool")).toBe(OLDER_SLOT);
    expect(index("provenance", { ...QUAD, provenance: 2 })).toBe(OLDER_SLOT);
  });
  it("are red for what was live at an out-of-memory, and grey for what is filtered away", () => {
    const quad = { ...QUAD, flags: MapFlag.atOom };
    expect(mapColourIndex(quad, LOOK)).toBe(SIZE_RAMP + 6);
    expect(mapColourIndex(quad, { ...LOOK, red: true })).toBe(RED_RAMP + 5);
    const away = { ...QUAD, flags: MapFlag.filtered };
    expect(mapColourIndex(away, LOOK)).toBe(FILTERED);
    // the filter of a red map is what was live: the rest keeps its colour
    expect(mapColourIndex(away, { ...LOOK, red: true, redCells: true })).toBe(SIZE_RAMP + 6);
    const [tiny, huge] = [0, 60].map((log2Bytes) =>
      mapColourIndex({ ...quad, log2Bytes }, { ...LOOK, red: true }),
    );
    expect([tiny, huge]).toEqual([RED_RAMP, RED_RAMP + 5]);
  });
  it("measure sizes by all that was owned", () => {
    expect(rampOf(38 * 2 ** 30)).toEqual([20, 32]);
    expect(rampOf(20 * 2 ** 20)).toEqual([9, 21]);
    expect(rampOf(0)).toEqual([0, 12]);
  });
  it("fade what is not marked", () => {
    expect(mapFill(QUAD, { ...LOOK, mark: "only" })).toEqual(LOOK.palette[FILTERED]);
    const marked = { ...QUAD, flags: MapFlag.marked };
    expect(mapFill(marked, { ...LOOK, mark: "only" })).toEqual(mapFill(QUAD, LOOK));
    expect(mapFill(QUAD, { ...LOOK, mark: "fade" })).not.toEqual(mapFill(QUAD, LOOK));
  });
});

describe("a cell of many small blocks", () => {
  it("shows nothing where nothing was owned, and the tint where all of it is free", () => {
    expect(cellColour([0, 0, 0], LOOK)[1]).toBe(0);
    expect(cellColour([0, 255, 0], LOOK)).toEqual([LOOK.tint, 1]);
  });
  it("distinguishes the smallest hole from none", () => {
    const full = cellColour([255, 255, 255], LOOK)[0];
    const holed = cellColour([254, 255, 254], LOOK)[0];
    expect(Math.abs(holed[0] - full[0])).toBeGreaterThan(10);
  });
  it("keeps the smallest block visible, and greys what is filtered away", () => {
    expect(cellColour([1, 1, 1], LOOK)[1]).toBeGreaterThanOrEqual(0.3);
    expect(cellColour([255, 255, 0], LOOK)[0]).toEqual(LOOK.palette[FILTERED]);
    const red = { ...LOOK, red: true, redCells: true };
    expect(cellColour([255, 255, 255], red)[0]).toEqual(LOOK.palette[RED_SMALL]);
    expect(cellColour([255, 255, 0], red)[0]).toEqual(LOOK.palette[SMALL]);
  });
});
