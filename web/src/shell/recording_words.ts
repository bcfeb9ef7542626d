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
  const unread = of.behind ? " There is more than is shown yet." : "";
  if (of.error !== null) {
    const title = `The recording cannot be read again: ${of.error}. What is shown is what was read before.`;
    return { head: "Not read again", rest: events, title, look: "bad" };
  }
  if (of.state === "ended") {
    const title = `The recorder has ended; this is all of it.${unread}`;
    return { head: "Recording ended", rest: events, title, look: "still" };
  }
  if (of.state === "stopped") {
    const title = `The recorder is gone without a word, killed perhaps. What it had written is here; no more comes.${unread}`;
    return { head: "Recorder gone", rest: `${events}, no more comes`, title, look: "bad" };
  }
  if (isPaused) {
    const title = "The recording goes on; the page stays with what was read.";
    return { head: "Paused", rest: `at ${events}`, title, look: "still" };
  }
  const every = Math.max(1, Math.round(of.wait_s + of.read_s));
  const title = `The recording is being written. It is read again about every ${every} s; the last event of the file came ${agoText(of.ago_s)}.`;
  return { head: "Recording…", rest: `${events}, ${agoText(of.ago_s)}`, title, look: "live" };
}
