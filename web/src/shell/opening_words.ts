// The words and the curve of a file that is being read.
import type { OpeningProgress } from "../api/contract";
import { bytesIn, bytesText, counted, unitFor } from "../text/units";

/** "Reading run.pickle: 412 of 870 MiB, 4,512,000 events" */
export function readingText(of: OpeningProgress): string {
  const name = of.name.slice(of.name.lastIndexOf("/") + 1);
  const which = of.files > 1 ? ` (file ${of.file} of ${of.files})` : "";
  if (of.total_bytes === 0) return `Opening ${name}${which}`;
  if (of.done_bytes >= of.total_bytes) {
    if (of.events === 0) return `Opening ${name}${which}`;
    return `Joining ${counted(of.events, "event")} of ${name}${which} into blocks`;
  }
  const unit = unitFor(of.total_bytes);
  const [done, total] = [of.done_bytes, of.total_bytes].map((bytes) => bytesIn(bytes, unit).number);
  const events = of.events > 0 ? `, ${counted(of.events, "event")}` : "";
  return `Reading ${name}${which}: ${done} of ${total} ${unit}${events}`;
}

/** The share of the input that was read, 0 to 1. */
export function shareRead(of: OpeningProgress): number {
  return of.total_bytes > 0 ? Math.min(1, of.done_bytes / of.total_bytes) : 0;
}

/** "at least 12.3 GiB at the highest point so far"; empty without events. */
export function heightText(of: OpeningProgress): string {
  const most = Math.max(0, ...of.at_least_bytes);
  return most > 0 ? `at least ${bytesText(most)} at the highest point so far` : "";
}

/**
 * The path of the area below the curve, in a box of 1 × 1 whose width is the whole file: the curve
 * ends where reading is.
 */
export function areaPath(of: OpeningProgress): string {
  const most = Math.max(1, ...of.at_least_bytes);
  const points = of.at_least_bytes.length;
  if (points === 0) return "";
  const end = shareRead(of);
  const at = (i: number) => ((i / points) * end).toFixed(5);
  const tops = of.at_least_bytes.map((bytes, i) => {
    const y = (1 - bytes / most).toFixed(5);
    return `L${at(i)},${y}L${at(i + 1)},${y}`;
  });
  return `M0,1${tops.join("")}L${at(points)},1Z`;
}
