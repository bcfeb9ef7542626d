// What is said about a recording that is being written.
import type { Shown } from "../state/page/recordings";
import { counted } from "../text/units";

/** "just now", "3 s ago", "4 min ago" */
export function agoText(seconds: number): string {
  if (seconds < 1.5) return "just now";
  if (seconds < 100) return `${Math.round(seconds)} s ago`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  return `${Math.round(seconds / 3600)} h ago`;
}

export interface Words {
  head: string;
  rest: string;
  title: string;
  look: "live" | "still" | "bad";
}

export function pillWords(of: Shown, isPaused: boolean): Words {
  const events = counted(of.shownEvents, "event");
  const unread = of.behind ? " The page does not show all of it yet." : "";
  if (of.error !== null) {
    const title = `The recording cannot be read again: ${of.error}. The page shows what was read before.`;
    return { head: "Read error", rest: events, title, look: "bad" };
  }
  if (of.state === "ended") {
    const title = `The recorder has ended; the recording is complete.${unread}`;
    return { head: "Recording ended", rest: events, title, look: "still" };
  }
  if (of.state === "stopped") {
    const title = `The recorder died or was killed. The recording ends here.${unread}`;
    return { head: "Recorder died", rest: `${events}, no new data`, title, look: "bad" };
  }
  if (isPaused) {
    const title = "The recording continues; the page keeps what was read.";
    return { head: "Paused", rest: `at ${events}`, title, look: "still" };
  }
  const every = Math.max(1, Math.round(of.wait_s + of.read_s));
  const title = `The recording is being written. It is read again about every ${every} s; last event: ${agoText(of.ago_s)}.`;
  return { head: "Recording…", rest: `${events}, ${agoText(of.ago_s)}`, title, look: "live" };
}
