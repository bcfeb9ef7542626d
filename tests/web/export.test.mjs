// The page that `tidegauge export --to html` writes: opened from disk, without a network, in two
// browsers. See harness.mjs for what it needs.
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  after, assert, axeComplaints, before, describe, example, it, run, whyNot,
} from "./harness.mjs";
import { BROWSERS } from "./two_browsers.mjs";

const MAX_BYTES = 5_000_000;
const FILE = example("oom.pickle.zst");
const TWO = example("two_gpus.pickle.zst");
let folder = null;

const at = (name, hash = "") => `file://${join(folder, name)}${hash}`;

function exported(file, name, ...more) {
  const made = run(["export", file, "--to", "html", "-o", join(folder, name), ...more]);
  assert.equal(made.status, 0, made.stderr);
  return made.stdout;
}

/** As the page writes bytes, without the space. */
function human(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(4, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)));
  const value = bytes / 1024 ** power;
  const digits = power === 0 ? 0 : power >= 3 ? 2 : value < 100 ? 1 : 0;
  const text = value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${text}${units[power]}`;
}

/** One block with names that try to leave the page. */
function hostileSnapshot() {
  const name = '</script><script>document.title="broken"</script><!--\u2028\u2029\ud800';
  const frames = [{ filename: `${name}.py`, line: 3, name }];
  const base = 0x7f0000000000;
  const mib = 1 << 20;
  const event = { action: "alloc", addr: base, size: mib, stream: 0, time_us: 1e15, frames };
  const blocks = [
    { size: mib, requested_size: mib, state: "active_allocated", frames },
    { size: mib, requested_size: 0, state: "inactive", frames: [] },
  ];
  const segment = {
    device: 0, address: base, total_size: 2 * mib, allocated_size: mib, active_size: mib, stream: 0,
    segment_type: "large", segment_pool_id: [0, 0], is_expandable: false, blocks, frames: [],
  };
  return JSON.stringify({ segments: [segment], device_traces: [[event]] });
}

describe("the file that is written", { skip: whyNot(), timeout: 300_000 }, () => {
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "tidegauge-export-"));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it("is one file within its bounds, and says what it holds", () => {
    const said = exported(FILE, "a.html");
    const bytes = statSync(join(folder, "a.html")).size;
    assert.ok(bytes <= MAX_BYTES, `${bytes}`);
    assert.match(said, new RegExp(`${bytes.toLocaleString("en-US")} bytes`));
    assert.match(said, /cuda:0: all [\d,]+ steps; zooms in to 1 step a column/);
    const html = readFileSync(join(folder, "a.html"), "utf8");
    assert.doesNotMatch(html, /(src|href)="(?!data:|#)/, "nothing to fetch");
    assert.match(html, /default-src 'none'/);
    const again = run(["export", FILE, "--to", "html", "-o", join(folder, "a.html")]);
    assert.equal(again.status, 2, "it is not written over");
    assert.match(again.stderr, /already exists/);
    exported(FILE, "a.html", "--force");
    const piped = run(["export", FILE, "--to", "html", "-o", "-"]);
    assert.equal(piped.status, 0);
    assert.equal(piped.stdout, readFileSync(join(folder, "a.html"), "utf8"));
  });

  it("can be zoomed less far where it must be smaller", () => {
    const said = exported(FILE, "small.html", "--max-size", "600000");
    assert.ok(statSync(join(folder, "small.html")).size <= 600_000);
    assert.doesNotMatch(said, /zooms in to 1 step/);
    const none = run(["export", FILE, "--to", "html", "-o", join(folder, "n.html"), "--max-size", "300000"]);
    assert.equal(none.status, 2);
    assert.match(none.stderr, /does not fit/);
  });

  it("ends with an error on a full disk", () => {
    const full = run(["export", FILE, "--to", "html", "-o", "/dev/full"]);
    assert.equal(full.status, 5);
    assert.match(full.stderr, /could not be written/);
  });
});

for (const kind of BROWSERS) {
  describe(`the exported page in ${kind.name}`, { skip: kind.whyNot(), timeout: 600_000 }, () => {
    let browser;
    before(async () => {
      folder = mkdtempSync(join(tmpdir(), "tidegauge-export-"));
      exported(FILE, "whole.html");
      // the page's own code takes half of it
      exported(FILE, "part.html", "--from", "14000", "--until", "16000", "--max-size", "900000");
      exported(TWO, "two.html");
      exported(TWO, "second.html", "--device", "1");
      writeFileSync(join(folder, "hostile.json"), hostileSnapshot());
      exported(join(folder, "hostile.json"), "hostile.html");
      const whole = readFileSync(join(folder, "whole.html"), "utf8");
      writeFileSync(join(folder, "cut.html"), whole.replaceAll(">H4sI", ">AAAA"));
      browser = await kind.start();
    });
    after(async () => {
      await browser?.close();
      rmSync(folder, { recursive: true, force: true });
    });

    /** Opens, runs, and insists on a clean console and no request but for the file. */
    const use = async (name, hash, body) => {
      const page = await browser.open(at(name, hash));
      try {
        await body(page);
        assert.deepEqual(page.complaints, []);
        assert.deepEqual([...new Set(page.requests)].filter((url) => url !== at(name)), []);
      } finally {
        await page.close();
      }
    };

    it("opens from disk with the figures of the report", () =>
      use("whole.html", "", async (page) => {
        const report = JSON.parse(run(["report", "--json", FILE]).stdout).devices[0];
        await page.wait(() => document.querySelector(".card dd") !== null);
        const card = (await page.text(".card")).replace(/\s/g, "");
        for (const [name, bytes] of [
          ["Live", report.final.active_bytes],
          ["Reserved", report.final.reserved_bytes],
          ["Peaklive", report.peak.active.bytes],
        ]) {
          assert.ok(card.includes(`${name}${human(bytes)}`), `${name} ${human(bytes)} in ${card}`);
        }
        const text = await page.text(".view");
        const holder = report.holders_at_oom ?? report.holders_at_peak;
        assert.ok(text.includes(holder.step.toLocaleString("en-US")), `step ${holder.step}`);
        const identity = report.identities.find(({ name }) => name === "drawn");
        assert.ok(identity, "the report has the identity of what is drawn");
        assert.ok((await page.text(".status")).includes(identity.text), identity.text);
        assert.match(await page.text(".exported"), /Exported page[\s\S]*all steps/);
      }));

    it("offers what it holds, and nothing else", () =>
      use("whole.html", "", async (page) => {
        const titles = await page.evaluate(() => [...document.querySelectorAll(".rail a")].map((a) => a.title));
        assert.deepEqual(titles, ["Overview", "Timeline", "Flame"]);
        await page.wait(() => document.querySelector(".story a, .finds a") !== null);
        const views = await page.evaluate(() =>
          [...document.querySelectorAll("a[href^='#']")].map((a) => a.getAttribute("href")),
        );
        for (const href of views) assert.match(href, /^#(overview|timeline|flame)(\?|$)/);
        for (const href of views) assert.doesNotMatch(href, /[?&](sql|q|mark)=/);
        assert.equal(await page.evaluate(() => document.querySelector("#search")), null);
        await page.press("4");
        await page.press("/");
        await page.press("F");
        assert.equal(await page.evaluate(() => document.querySelector(".filterbar")), null);
      }));

    it("draws the timeline, zooms to single steps and back", () =>
      use("whole.html", "#timeline", async (page) => {
        await page.settled();
        assert.ok(await page.evaluate(() => window.tidegaugeStats.quads > 10));
        const coarse = await page.text(".status");
        assert.match(coarse, /exact to \d+ steps?, blocks from [\d.]+ [KMG]iB/);
        const box = await page.box("#timeline");
        await page.move(box.x + box.width * 0.6, box.y + box.height * 0.7);
        for (let i = 0; i < 14; i += 1) await page.wheel(-400);
        await page.param("x", (value) => value !== null);
        await page.settled();
        assert.match(await page.text(".status"), /exact to 1 step,/);
        await page.press("f");
        await page.param("x", (value) => value === null);
        await page.settled();
        assert.equal((await page.text(".status")).match(/exact to.*/)[0], coarse.match(/exact to.*/)[0]);
      }));

    it("picks a block by pointer and by keys, and shows its details", () =>
      use("whole.html", "#timeline", async (page) => {
        await page.settled();
        const box = await page.box("#timeline");
        const [x, y] = [box.x + box.width * 0.6, box.y + box.height - 70];
        await page.move(x, y);
        await page.wait(() => /Life[\s\S]*\d/.test(document.querySelector(".tip.on")?.innerText ?? ""));
        await page.click(x, y);
        const id = await page.param("sel", (value) => value !== null);
        await page.wait(() => /b[0-9a-f]+_\d+[\s\S]*Requested/.test(document.querySelector(".side").innerText));
        assert.match(await page.text(".side"), /\.py:?\d*|<listcomp>|<module>/, "with its stack");
        await page.press("ArrowUp");
        await page.wait(
          (old) => new URLSearchParams(location.hash.split("?")[1]).get("sel") !== old,
          id,
        );
        await page.press("Escape");
        await page.param("sel", (value) => value === null);
        await page.press("]");
        await page.param("at", (value) => value !== null);
        await page.wait(() => /step [\d,]+/.test(document.querySelector(".side h2")?.innerText ?? ""));
      }));

    it("colours by other things, and the legend follows", () =>
      use("whole.html", "#timeline", async (page) => {
        await page.settled();
        for (const by of ["size", "age", "stream", "provenance"]) {
          await page.evaluate((to) => {
            location.hash = `#timeline?colour=${to}`;
          }, by);
          await page.wait(
            (name) =>
              document.querySelector(".viewhead .pick")?.innerText.includes(name) &&
              document.querySelectorAll(".legendbar .lgs .lg").length > 0,
            by,
          );
        }
      }));

    it("draws flame graphs, zooms, picks and finds", () =>
      use("whole.html", "#flame?flame=peak", async (page) => {
        await page.wait(() => document.querySelectorAll(".flamelist tbody tr").length > 0);
        assert.match(await page.text(".viewhead .sub"), /live at the peak, step [\d,]+, .* in [\d,]+ block/);
        const box = await page.box("#flame");
        await page.click(box.x + box.width * 0.2, box.y + 36);
        await page.wait(() => /Called by[\s\S]*Calls/.test(document.querySelector(".side").innerText));
        for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await page.press(key);
        await page.param("zoom", (value) => value !== null);
        await page.press("Backspace");
        await page.param("zoom", (value) => value === null);
        for (const [name, of] of [
          ["Allocated", "allocated"],
          ["Growth", "growth"],
          ["Churn", "churn"],
        ]) {
          await page.evaluate((to) => {
            location.hash = `#flame?flame=${to}`;
          }, of);
          await page.wait(
            (wanted) =>
              [...document.querySelectorAll(".viewhead button[aria-pressed=true]")].some(
                (one) => one.innerText.trim() === wanted,
              ),
            name,
          );
          await page.wait(() => document.querySelector(".flamebody")?.getAttribute("aria-busy") === "false");
          assert.equal(await page.evaluate(() => document.querySelector(".note-box .danger")), null, of);
        }
        await page.press("b");
        assert.equal(await page.evaluate(() => location.hash.includes("sandwich")), false, "no sandwich");
      }));

    it("knows its range: opens there, is coarse elsewhere and says so", () =>
      use("part.html", "", async (page) => {
        assert.match(await page.text(".exported"), /steps 14,000 – 16,000/);
        assert.match(await page.text(".view"), /exported for steps 14,000 – 16,000/);
        await page.press("2");
        await page.settled();
        const resolution = async () => {
          const text = await page.text(".status");
          return Number(text.match(/exact to ([\d,]+) step/)[1].replace(",", ""));
        };
        const inside = await resolution();
        await page.evaluate(() => {
          location.hash = "#timeline?x=30000,30100";
        });
        await page.settled();
        assert.ok((await resolution()) > inside, "outside of the range it is coarser");
        // a block without details says so
        await page.evaluate(() => {
          location.hash = "#timeline?x=14000,16001&sel=5";
        });
        await page.wait(() => /no details of this block[\s\S]*tidegauge view/.test(document.querySelector(".side").innerText));
        await page.evaluate(() => {
          location.hash = "#flame?flame=allocated";
        });
        await page.wait(() => /steps 14,000 – 16,000/.test(document.querySelector(".viewhead .sub")?.innerText ?? ""));
      }));

    it("says what of a link it cannot show", () =>
      use("whole.html", "#map?q=linear&axis=time", async (page) => {
        await page.wait(() => /Ignored parts[\s\S]*#map[\s\S]*search/.test(document.querySelector(".linknotes").innerText));
      }));

    it("holds all devices", () =>
      use("two.html", "", async (page) => {
        await page.evaluate(() => document.querySelectorAll(".devchip")[1].click());
        await page.param("dev", (value) => value === "1");
        await page.press("2");
        await page.settled();
      }));

    it("keeps what is selected in a page of one device: blocks are numbered over the file", async () => {
      const sql = "SELECT max(id) AS id, count(*) AS count FROM allocations WHERE device = 1";
      const made = run(["query", TWO, sql, "--format", "csv"]);
      const [id, count] = made.stdout.trim().split("\n")[1].split(",").map(Number);
      assert.ok(id >= count, `${id} of ${count}: a number that the device alone does not have`);
      await use("second.html", `#timeline?sel=${id}`, async (page) => {
        await page.wait(() => /b[0-9a-f]+_\d+[\s\S]*Requested/.test(document.querySelector(".side").innerText));
        await page.param("sel", (value) => value !== null);
        assert.equal(await page.text(".linknotes"), "");
      });
    });

    it("shows hostile names as text", () =>
      use("hostile.html", "", async (page) => {
        await page.wait(() => document.querySelector(".story li") !== null);
        assert.doesNotMatch(await page.evaluate(() => document.title), /broken/);
        assert.match(await page.text(".view"), /<script>document\.title/);
        await page.press("3");
        await page.wait(() => document.querySelectorAll(".flamelist tbody tr").length > 0);
        assert.doesNotMatch(await page.evaluate(() => document.title), /broken/);
      }));

    it("says when it is damaged", async () => {
      const page = await browser.open(at("cut.html"), ".note-box");
      assert.match(await page.text(".note-box"), /data in this page are damaged/);
      await page.close();
    });

    it("changes the theme, and axe finds nothing in either", () =>
      use("part.html", "", async (page) => {
        for (const theme of [1, 2]) {
          for (const [key, ready] of [
            ["1", ".card"],
            ["2", "#timeline"],
            ["3", "#flame"],
          ]) {
            await page.press(key);
            await page.wait((of) => document.querySelector(of) !== null, ready);
            assert.deepEqual(await axeComplaints(page), [], `view ${key}, theme ${theme}`);
          }
          const before = await page.evaluate(() => document.documentElement.dataset.theme);
          await page.press("t");
          await page.wait((old) => document.documentElement.dataset.theme !== old, before);
        }
      }));

    it("can never ask the network, whoever runs in it", async () => {
      const page = await browser.open(at("whole.html"));
      const said = await page.evaluate(() =>
        fetch("http://127.0.0.1:9/").then(
          () => "answered",
          () => "refused",
        ),
      );
      assert.equal(said, "refused");
      const image = await page.evaluate(
        () =>
          new Promise((resolve) => {
            document.addEventListener("securitypolicyviolation", (event) => resolve(event.effectiveDirective));
            const script = document.createElement("script");
            script.textContent = "window.broken = 1";
            document.body.append(script);
          }),
      );
      assert.match(image, /^script-src/);
      assert.equal(await page.evaluate(() => window.broken), undefined);
      await page.close();
    });
  });
}
