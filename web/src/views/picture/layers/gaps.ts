// Gaps of a recording: a dashed line where events are missing, since the ring buffer was made
// smaller there. Memory may have been higher in the gap.
import type { DeviceInfo } from "../../../api/contract";
import type { Domain } from "../../../state/recording/domain";
import { font, gapLine, label, type Surface } from "../../../ui/plot";
import { type Frame, toX } from "../window/frame";

const GAP_TEXT = "events are missing";

/** Their positions; a gap without a time has none on a time axis. */
export function gapPositions(of: DeviceInfo, domain: Domain): number[] {
  return of.gaps.flatMap(({ step, time_us }) => {
    if (domain.axis === "step") return [step];
    return time_us === null ? [] : [time_us - domain.base];
  });
}

/** The first one in sight has the words, if there is room beside it. */
export function drawGaps(s: Surface, frame: Frame): void {
  const { plot } = frame;
  const seen = gapPositions(frame.device, frame.domain)
    .map((position) => toX(frame, position))
    .filter((x) => x >= plot.left && x <= plot.right);
  for (const x of seen) gapLine(s, x, plot.top, plot.bottom);
  const first = seen[0];
  if (first === undefined) return;
  font(s);
  if (first + s.c.measureText(GAP_TEXT).width + 10 > plot.right) return;
  label(s, GAP_TEXT, first + 6, plot.bottom - 12, { colour: s.token("ink-2"), backed: true });
}
