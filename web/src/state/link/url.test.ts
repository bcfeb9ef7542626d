import { describe, expect, it } from "vitest";
import { formatHash, type PageState, parseHash, START, unreadable } from "./url";

const VIEWS = ["overview", "timeline", "sql"];

const FULL: PageState = {
  view: "timeline",
  file: 2,
  device: -1,
  axis: "time",
  x: [1_766_124_544_221_968, 1_766_124_546_225_256.5],
  y: [0, 4096],
  colour: "size",
  at: 77,
  sel: 812,
  q: "linear >512MiB & more",
  sql: "SELECT *\nFROM allocations -- 100 %",
  mark: "sql",
  only: true,
  order: "age",
  flat: true,
  scale: true,
  seg: 12,
  act: "oom",
  ev: ">1MiB linear.py:52",
  ay: [4096, 8192.5],
  hue: "pool",
  whole: true,
  red: true,
  filter: "stream:1 stack:/a b/",
  flame: "growth",
  span: [3, 90],
  frames: "cpp",
  noise: true,
  hide: "/^at::/",
  find: "loss",
  sandwich: 12,
  zoom: [4, 0, 17],
  arena: "address",
  fit: 67108864,
  set: "roundup_power2_divisions:[256:1,>:4]",
  conf: "expandable_segments:True",
  cap: 25769803776,
  table: "stacks",
  growth: "churn",
  sort: { column: "peak_bytes", down: true },
  rank: "difference",
  against: "first",
  own: true,
  align: "first",
  t: 1_766_124_544_221_968,
  vs: "1/-1",
  pa: "phase:FSDP::forward (layers.0)#2",
  pb: "step:77",
  by: "segment",
  width: "change",
  pic: "lanes",
  row: "stack a.py:1 f ‹ b.py:2 g",
  proc: 3,
  win: "minute",
  rates: "peak",
  way: [3, 1],
};

describe("the state in the URL", () => {
  it("comes back as it was", () => {
    expect(parseHash(formatHash(FULL), VIEWS)).toEqual(FULL);
    expect(parseHash(formatHash(START), VIEWS)).toEqual(START);
  });
  it("is short where nothing was changed", () => {
    expect(formatHash(START)).toBe("#overview");
    expect(formatHash({ ...START, view: "timeline", x: [2450, 3394] })).toBe(
      "#timeline?x=2450,3394",
    );
  });
  it("takes what it understands of a mangled link", () => {
    const hash =
      "#nowhere?file=x&dev=1.5&x=9,3&y=NaN,1&colour=plaid&at=-4&sel=99999999999999999&mark=1&axis=up&only=yes";
    expect(parseHash(hash, VIEWS)).toEqual(START);
    expect(parseHash("#timeline?x=1,,2&x=", VIEWS).x).toBeNull();
    expect(parseHash("#timeline?x=,5", VIEWS).x).toBeNull();
    expect(parseHash("#%E0%A4%A&?&=&&", VIEWS).view).toBe("overview");
    expect(parseHash("", VIEWS)).toEqual(START);
  });
  it("says what it did not understand, as it stands there", () => {
    const hash = "#nowhere?file=x&x=9,3&colour=plaid&at=4&zoomed=2&sql=&toString=1&__proto__=2";
    expect(unreadable(hash, VIEWS)).toEqual([
      "#nowhere",
      "file=x",
      "x=9,3",
      "colour=plaid",
      "zoomed=2",
      "toString=1",
      "__proto__=2",
    ]);
    expect(unreadable(formatHash(FULL), VIEWS)).toEqual([]);
    expect(unreadable(`#sql?sql=${"a".repeat(100_000)}`, VIEWS)).toHaveLength(1);
    expect(unreadable("", VIEWS)).toEqual([]);
    expect(unreadable("#timeline?&=&&", VIEWS)).toEqual([]);
  });
  it("asks only about sizes that a request can have", () => {
    for (const fit of ["0", "-1", "1e99", "abc", "1.5", "", "NaN", "99999999999999999999"]) {
      expect(parseHash(`#fragmentation?fit=${fit}`, [...VIEWS, "fragmentation"]).fit).toBeNull();
      expect(unreadable(`#timeline?fit=${fit}`, VIEWS)).toEqual([`fit=${fit}`]);
    }
    expect(parseHash("#timeline?fit=1", VIEWS).fit).toBe(1);
  });
  it("bounds texts", () => {
    const hash = `#sql?sql=${"a".repeat(100_000)}`;
    expect(parseHash(hash, VIEWS).sql.length).toBe(20_000);
  });
});
