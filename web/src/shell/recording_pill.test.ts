import { describe, expect, it } from "vitest";
import type { Shown } from "../state/page/recordings";
import { agoText, pillWords } from "./recording_words";

const SHOWN: Shown = {
  path: "run.sqlite",
  state: "recording",
  events: 1234,
  changed_s: 3,
  behind: false,
  read_s: 0.2,
  wait_s: 1.8,
  error: null,
  shownEvents: 1234,
  ago_s: 3,
  quiet: false,
};

describe("the pill of a recording", () => {
  it("says how far it is and when it last grew", () => {
    const words = pillWords(SHOWN, false);
    expect(`${words.head} ${words.rest}`).toBe("Recording… 1,234 events, 3 s ago");
    expect(words.title).toContain("about every 2 s");
  });

  it("distinguishes a good end from a recorder that died", () => {
    expect(pillWords({ ...SHOWN, state: "ended" }, false).head).toBe("Recording ended");
    const gone = pillWords({ ...SHOWN, state: "stopped" }, true);
    expect(gone.rest).toBe("1,234 events, no new data");
    expect(gone.look).toBe("bad");
  });

  it("says when it is paused, and what could not be read", () => {
    expect(pillWords(SHOWN, true).rest).toBe("at 1,234 events");
    expect(pillWords({ ...SHOWN, error: "disk I/O error" }, false).title).toContain(
      "disk I/O error",
    );
  });

  it("rounds times as people say them", () => {
    expect([0.4, 12.2, 240, 9000].map(agoText)).toEqual([
      "just now",
      "12 s ago",
      "4 min ago",
      "3 h ago",
    ]);
  });
});
