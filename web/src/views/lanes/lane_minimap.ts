// The minimap of the lanes: the recording that the page speaks of, on the axis that all share.

import type { Range } from "../../state/link/url";
import type { SharedAxis } from "../../state/recording/lanes";
import type { Tokens } from "../../ui/plot";
import { drawMinimap } from "../picture/layers/minimap";
import { oomMarks } from "../picture/layers/ooms";
import type { LineTile } from "../picture/tiles/line_sampler";

interface LaneMinimap {
  shared: SharedAxis;
  /** key of the lane, and what is known of it */
  key: string;
  coarse: LineTile | null;
  x: Range;
}

export function drawLaneMinimap(canvas: HTMLCanvasElement, tokens: Tokens, of: LaneMinimap): void {
  const lane = of.shared.lanes.find(({ key }) => key === of.key);
  const by = lane?.offset ?? 0;
  const { coarse } = of;
  const ooms = lane?.domain ? oomMarks(lane.device, lane.domain) : [];
  drawMinimap(canvas, tokens, {
    domain: of.shared.domain,
    end: by + (lane?.domain?.end ?? 0),
    x: of.x,
    coarse: coarse && {
      ...coarse,
      x0: coarse.x0 + by,
      from: coarse.from + by,
      to: coarse.to + by,
    },
    ooms: ooms.map((one) => ({ ...one, position: one.position + by })),
  });
}
