// What the Live view says in words and numbers.
import type { LiveAnswer, LiveDevice, LiveProcess } from "../../api/live";
import type { LiveSort } from "../../state/link/page_state";
import { bytesText, counted, integer } from "../../text/units";

/** 18,400 · 37.5 · 0.4 · 0: as many digits as a rate is worth. */
export function rateText(perSecond: number): string {
  if (perSecond === 0) return "0";
  if (perSecond < 0.05) return "< 0.1";
  if (perSecond >= 99.95) return integer(perSecond);
  return perSecond.toFixed(1);
}

const MIB = 2 ** 20;

export function mebibytesText(bytesPerSecond: number): string {
  return rateText(bytesPerSecond / MIB);
}

/** "8 s", "3 m 12 s", "3 h 12 m", "6 d 4 h". */
export function ageText(us: number): string {
  const seconds = Math.max(0, Math.floor(us / 1e6));
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (seconds < 60) return `${seconds} s`;
  if (minutes < 60) return `${minutes} m ${seconds % 60} s`;
  if (hours < 24) return `${hours} h ${minutes % 60} m`;
  return `${integer(Math.floor(hours / 24))} d ${hours % 24} h`;
}

/** "cuda:0", "cuda:0, 1", "?" where no call named the device. */
export function devicesText(devices: readonly LiveDevice[]): string {
  const known = devices.flatMap(({ device }) => (device === null ? [] : [device]));
  const unknown = devices.some(({ device }) => device === null);
  if (known.length === 0) return unknown ? "?" : "–";
  return `cuda:${known.join(", ")}${unknown ? ", ?" : ""}`;
}

export function deviceText(device: number | null): string {
  return device === null ? "unknown device" : `cuda:${device}`;
}

function lostEvents(of: LiveAnswer): number {
  return of.losses.reduce((sum, { count }) => sum + count, 0);
}

/** "1,204 events were lost, 2 items were not watched" */
export function missedText(of: LiveAnswer): string {
  const lost = lostEvents(of);
  const unwatched = of.unwatched.rows.length + of.unwatched.more;
  return [
    lost > 0 ? `${counted(lost, "event")} ${lost === 1 ? "was" : "were"} lost` : "",
    unwatched > 0
      ? `${counted(unwatched, "item")} ${unwatched === 1 ? "was" : "were"} not watched`
      : "",
  ]
    .filter((text) => text !== "")
    .join(", ");
}

/** "2 processes on 1 device · being written · 1,204 calls · 0 events lost" */
export function headText(of: LiveAnswer): string {
  const running = of.processes.filter(({ ended_us }) => ended_us === null).length;
  const all = of.processes.length + of.more_processes;
  const ended = running < all ? `, ${integer(running)} running` : "";
  const devices = of.devices.filter(({ device }) => device !== null).length;
  const span = ageText(of.now_us - of.first_us);
  const states: Record<LiveAnswer["state"], string> = {
    recording: `being written for ${span}`,
    monitor: `watched for ${span}`,
    finished: `finished, ${span} long`,
    abandoned: `not finished, ${span} long`,
  };
  const of_state = of.state === "finished" || of.state === "abandoned" ? "" : ended;
  return [
    `${counted(all, "process", "processes")}${of_state} on ${counted(devices, "device")}`,
    states[of.state],
    counted(of.calls, "memory call"),
    `${counted(lostEvents(of), "event")} lost`,
  ].join(" · ");
}

/** What the rates are of. */
export function ratesText(of: LiveAnswer): string {
  const now = of.state === "recording" || of.state === "monitor";
  if (!now) return "rates are averages over the life of each process";
  const ended = of.processes.some(({ average }) => average);
  const last = `rates over the last ${of.rate_seconds} s`;
  return ended ? `${last}; for ended processes, averages over their life` : last;
}

function keyOf(row: LiveProcess, sort: LiveSort): number {
  switch (sort) {
    case "pid":
      return -row.pid;
    case "peak":
      return row.peak_bytes;
    case "allocations":
      return row.allocations_per_second;
    case "launches":
      return row.launches_per_second;
    case "to_device":
      return row.to_device_bytes_per_second;
    case "to_host":
      return row.to_host_bytes_per_second;
    case "failures":
      return row.failures;
    default:
      return row.live_bytes;
  }
}

/** Largest first (pid: smallest); what has ended comes after what runs. */
export function sorted(rows: readonly LiveProcess[], sort: LiveSort): LiveProcess[] {
  return [...rows].sort(
    (a, b) =>
      Number(a.ended_us !== null) - Number(b.ended_us !== null) ||
      keyOf(b, sort) - keyOf(a, sort) ||
      b.peak_bytes - a.peak_bytes ||
      a.process - b.process,
  );
}

/** How it ended, or how long it runs. */
export function lifeText(row: LiveProcess, now_us: number): string {
  if (row.ended_us === null) return ageText(now_us - row.began_us);
  return `ended, ${ageText(row.ended_us - row.began_us)}`;
}

export function endTitle(row: LiveProcess): string {
  if (row.ended_us === null) return "Since it was first seen";
  return row.unfreed_bytes === 0
    ? "It had freed all device memory when it ended"
    : `It had not freed ${bytesText(row.unfreed_bytes)} of device memory when it ended`;
}
