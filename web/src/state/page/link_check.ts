// A link may come from another file, another version or another person. What it names and this page
// does not have is removed from the state, with a note to the user.
import type { DeviceInfo, FileInfo } from "../../api/contract";
import { frozen } from "../../api/frozen";
import { counted, integer } from "../../text/units";
import { visible } from "../../text/visible";
import type { PageState } from "../link/url";
import { type Domain, domainOf, noTimeBecause } from "../recording/domain";
import { LANES_VIEW, laneKey, lanesOf, shareAxis } from "../recording/lanes";

interface Checked {
  state: PageState;
  notes: string[];
}

export const NOWHERE = { x: null, y: null, at: null, sel: null, seg: null, ay: null } as const;
const REQUEST_ROOM = 2.2;
const MAX_HEIGHTS = 1000;
const MAX_QUOTED = 4;
const QUOTE_LENGTH = 40;
const FIT = "fit=";

function cut(text: string): string {
  return text.length > QUOTE_LENGTH ? `${text.slice(0, QUOTE_LENGTH)}…` : text;
}

/** `strange`: the parts of the link that could not be read. */
export function checkLink(
  wanted: PageState,
  files: readonly FileInfo[],
  deviceOf: (file: FileInfo, state: PageState) => DeviceInfo | null,
  strange: readonly string[] = [],
): Checked {
  const notes: string[] = [];
  let state = wanted;
  const size = strange.find((one) => one.startsWith(FIT));
  if (size !== undefined) {
    notes.push(
      `The link asks whether “${visible(cut(size.slice(FIT.length)))}” bytes fit. A request is a whole number of bytes, at least 1. A size from this recording is used instead.`,
    );
  }
  const rest = strange.filter((one) => one !== size);
  if (rest.length > 0) {
    const quoted = rest.slice(0, MAX_QUOTED).map((one) => `“${visible(cut(one))}”`);
    const more = rest.length > MAX_QUOTED ? ` and ${rest.length - MAX_QUOTED} more` : "";
    notes.push(`Ignored parts of the link: ${quoted.join(", ")}${more}.`);
  }
  const file = files.find((one) => one.id === state.file) ?? files[0];
  if (!file) return { state, notes };
  if (file.id !== state.file) {
    const open = files.length === 1 ? "one file is open" : `${files.length} files are open`;
    notes.push(
      `The link names file ${integer(state.file)}, but ${open}, numbered from 0. The page shows ${visible(file.name)}.`,
    );
    state = { ...state, ...NOWHERE, file: file.id, device: null };
  }
  const device = deviceOf(file, state);
  if (!device) return { state, notes };
  if (state.device !== null && device.ordinal !== state.device) {
    notes.push(
      `The link names device ${state.device}, which ${visible(file.name)} does not have. The page shows ${device.label}.`,
    );
    state = { ...state, ...NOWHERE, device: null };
  }
  if (state.vs !== "" && !lanesOf(files).some(({ key }) => key === state.vs)) {
    notes.push(`The link compares with recording ${state.vs}, which is not open.`);
    state = { ...state, vs: "", pb: "", row: "" };
  }
  // an exported page may hold some of the devices, but counts what the whole file has
  const complete = frozen === null;
  const allocations = file.devices.reduce((sum, one) => sum + one.allocations, 0);
  if (complete && state.sel !== null && state.sel >= allocations) {
    notes.push(
      `The link selects allocation ${integer(state.sel)}; this file has ${counted(allocations, "allocation")}, numbered from 0.`,
    );
    state = { ...state, sel: null };
  }
  const segments = file.devices.reduce((sum, one) => sum + one.segments, 0);
  if (complete && state.seg !== null && state.seg >= segments) {
    notes.push(
      `The link selects segment ${integer(state.seg)}; this file has ${counted(segments, "segment")}, numbered from 0.`,
    );
    state = { ...state, seg: null };
  }
  const lanes = lanesOf(files);
  if (state.view === LANES_VIEW && lanes.length < 2) {
    notes.push(
      "The link shows recordings side by side, but only one is open. The page shows its timeline.",
    );
    state = { ...state, view: "timeline" };
  }
  if (state.view !== LANES_VIEW) {
    const reach = reachOf([device], domainOf(device, state.axis));
    const because = device.events > 0 ? noTimeBecause(device) : null;
    return { state: checkPlace(state, because, reach, notes), notes };
  }
  // side by side a place may lie where only another recording has something
  const { domain } = shareAxis(lanes, state.axis, state.align, laneKey(file.id, device.ordinal));
  const devices = lanes.map((lane) => lane.device);
  // the axis of time needs one lane that has times, whichever it is
  const reasons = devices.filter(({ events }) => events > 0).map(noTimeBecause);
  const because = reasons.includes(null) ? null : (reasons[0] ?? null);
  return { state: checkPlace(state, because, reachOf(devices, domain), notes), notes };
}

/** How far that reaches which a view shows. */
interface Reach {
  domain: Domain;
  steps: number;
  bytes: number;
}

function reachOf(devices: readonly DeviceInfo[], domain: Domain): Reach {
  const bytes = devices.flatMap(({ peak, ceiling_bytes }) => [
    peak.reserved.bytes,
    peak.active.bytes,
    ceiling_bytes ?? 0,
  ]);
  return {
    domain,
    steps: devices.reduce((most, { events }) => Math.max(most, events), 0),
    bytes: bytes.reduce((most, one) => Math.max(most, one), 1 << 20),
  };
}

function checkPlace(
  wanted: PageState,
  /** why there is no axis of time */
  because: string | null,
  { domain, steps, bytes }: Reach,
  notes: string[],
): PageState {
  let state = wanted;
  if (state.axis === "time" && because !== null) {
    notes.push(`Shown by steps, not by time: ${because}.`);
    state = { ...state, axis: "step", x: null };
  }
  if (state.x && (state.x[1] <= domain.base || state.x[0] >= domain.base + domain.room)) {
    notes.push(
      `The range in the link is outside this recording (${counted(steps, "event")}); showing all of it.`,
    );
    state = { ...state, x: null };
  }
  // a request that failed stands above everything that was reserved
  const highest = REQUEST_ROOM * bytes;
  if (state.y && (state.y[0] < 0 || state.y[0] >= highest || state.y[1] > MAX_HEIGHTS * highest)) {
    notes.push("The byte range in the link is outside this recording; showing the full height.");
    state = { ...state, y: null };
  }
  if (state.at !== null && state.at >= Math.max(1, steps)) {
    notes.push(
      `The link names step ${integer(state.at)}; the last step is ${integer(Math.max(0, steps - 1))}.`,
    );
    state = { ...state, at: null };
  }
  return state;
}
