// What people come for, one short proof each, where no other file has one. docs/use/limits.md lists every
// feature with the test that shows it.
import {
  ask, assert, describe, example, it, opened, settled, use, waitForParam, whyNot,
} from "./harness.mjs";

const skip = whyNot();
const GUTTER = 62;
const AXIS_HEIGHT = 24;

/** Heights above the axis, in pixels, of what has a colour of the theme in one column of the picture. */
function heightsOf(page, token, share) {
  return page.evaluate(
    ([name, at, gutter, axis]) => {
      const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
      probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(`--tg-${name}`).trim();
      probe.fillRect(0, 0, 1, 1);
      const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
      const canvas = document.querySelector("#timeline");
      const ratio = canvas.width / canvas.clientWidth;
      const x = Math.round((gutter + (canvas.clientWidth - gutter) * at) * ratio);
      const { data } = canvas.getContext("2d").getImageData(x, 0, 1, canvas.height);
      const rows = [];
      for (let y = 0; y < canvas.height; y += 1) {
        const near = [r, g, b].every((value, i) => Math.abs(data[y * 4 + i] - value) < 24) && data[y * 4 + 3] > 60;
        if (near) rows.push(canvas.clientHeight - axis - (y + 0.5) / ratio);
      }
      return rows;
    },
    [token, share, GUTTER, AXIS_HEIGHT],
  );
}

const mean = (list) => list.reduce((sum, one) => sum + one, 0) / list.length;

describe("features", { skip, timeout: 300_000 }, () => {
  const here = opened(() => [
    example("oom.pickle.zst"),
    example("annotated.pickle.zst"),
  ]);
  const { at } = here;

  it("draws reserved and allocated bytes as two lines, to one scale", () =>
    use(here.browser, at("#timeline?x=19990,20010"), async (page) => {
      await settled(page);
      const { totals } = await ask(page, "at?file=0&axis=step&x=19997");
      assert.ok(totals.reserved_bytes > totals.active_bytes, "else the lines are one");
      const share = 7.25 / 20; // off the middle of the step, where a picture without a cursor has none
      const reserved = mean(await heightsOf(page, "reserved", share));
      const allocated = Math.max(...(await heightsOf(page, "accent", share)));
      const [drawn, reported] = [reserved / allocated, totals.reserved_bytes / totals.active_bytes];
      assert.ok(Math.abs(drawn / reported - 1) < 0.02, `drawn ${drawn}, reported ${reported}`);
    }));

  it("draws the same timeline again after the loss of its WebGL context", () =>
    use(here.browser, at("#timeline?x=19000,23000"), async (page) => {
      await settled(page);
      const picture = () => page.locator(".plot.grow").screenshot();
      const before = await picture();
      await page.evaluate(async () => {
        const lose = document.querySelector("canvas.blocks").getContext("webgl2").getExtension("WEBGL_lose_context");
        const { frames } = window.tidegaugeStats;
        lose.loseContext();
        await new Promise((next) => setTimeout(next, 100));
        lose.restoreContext();
        while (window.tidegaugeStats.frames === frames) await new Promise((next) => setTimeout(next, 20));
      });
      await settled(page);
      assert.ok(before.equals(await picture()), "the picture is another");
    }));

  it("draws a moving picture with fewer pixels where there is no GPU, and all of them at rest", () =>
    use(here.browser, at("#timeline"), async (page) => {
      await settled(page);
      assert.equal(await page.getByText("software WebGL", { exact: true }).count(), 1, "this browser has a GPU");
      const size = () => page.locator("canvas.blocks").evaluate((canvas) => canvas.width / canvas.clientWidth);
      assert.equal(await size(), 1);
      await page.evaluate(() => {
        window.seen = new Set();
        const canvas = document.querySelector("canvas.blocks");
        const note = () => requestAnimationFrame(note, window.seen.add(Math.round((canvas.width / canvas.clientWidth) * 10)));
        note();
      });
      const box = await page.locator("#timeline").boundingBox();
      await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
      for (let i = 0; i < 10; i += 1) await page.mouse.wheel(0, -120);
      await settled(page);
      assert.ok(await page.evaluate(() => window.seen.has(5)), "no frame was coarse");
      assert.equal(await size(), 1);
    }));

  it("draws phases as bands over the timeline; a click makes one the range", () =>
    use(here.browser, at("#timeline?file=1"), async (page) => {
      await settled(page);
      const { rows } = await ask(page, "annotations?file=1&device=0");
      const { devices } = (await ask(page, "session")).files[1];
      const outer = rows.find((one) => one.depth === 0 && one.end_step > one.begin_step);
      const box = await page.locator("#timeline").boundingBox();
      const middle = (outer.begin_step + outer.end_step) / 2 / (devices[0].events * 1.035);
      await page.mouse.click(box.x + GUTTER + (box.width - GUTTER) * middle, box.y + 4 + 8);
      const range = (await waitForParam(page, "x", Boolean)).split(",").map(Number);
      const named = rows.filter((one) => one.begin_step === range[0] && one.end_step === range[1]);
      assert.ok(named.length > 0, `${range} is no phase`);
    }));

  it("finds a block by its address, and by PyTorch's name for one life of it", () =>
    use(here.browser, at("#timeline"), async (page) => {
      await settled(page);
      const { rows } = await ask(page, "table?file=0&device=0&name=allocations&sort=version&order=desc&limit=1");
      const wanted = await ask(page, `allocation?file=0&id=${rows[0][0]}`);
      await page.keyboard.press("/");
      await page.keyboard.type(wanted.address_id);
      await page.waitForSelector(".hits [role=option]");
      await page.keyboard.press("Enter");
      await waitForParam(page, "sel", (now) => now === String(wanted.id));
      const lives = await ask(page, `search?file=0&device=0&q=${wanted.address}&limit=9`);
      assert.ok(lives.count >= Number(wanted.address_id.split("_")[1]), "an address has had that many lives");
    }));

  it("lists what was never freed, by source line, as the filter counts it", () =>
    use(here.browser, at("#sql?file=1"), async (page) => {
      await page.waitForSelector(".cm-content");
      await page.locator(".schema .question button", { hasText: "never freed" }).first().click();
      await page.locator(".cm-content").click();
      await page.keyboard.press("Control+Enter");
      await page.waitForSelector(".results tbody tr[aria-rowindex]");
      const blocks = await page.locator(".results tbody tr[aria-rowindex] td:nth-last-child(2)").allInnerTexts();
      const listed = blocks.reduce((sum, text) => sum + Number(text.replaceAll(",", "")), 0);
      const term = encodeURIComponent("provenance:traced -freed:>=0");
      const left = await ask(page, `filter?file=1&device=0&filter=${term}`);
      assert.ok(left.count > 0);
      assert.equal(listed, left.count);
    }));

  it("adds up memory by source line: per stack in the tables, per frame in the flame", () =>
    use(here.browser, at("#tables?table=stacks"), async (page) => {
      await page.waitForSelector(".grid tbody tr.picks");
      const stacks = await ask(page, `table?file=0&device=0&name=stacks&sort=at_peak_bytes&limit=1000`);
      const column = stacks.columns.findIndex((one) => one.name === "at_peak_bytes");
      const sum = stacks.rows.reduce((bytes, row) => bytes + row[column], 0);
      const flame = await ask(page, `flame?file=0&device=0&of=peak`);
      const { devices } = (await ask(page, "session")).files[0];
      assert.equal(flame.tree.bytes[0], devices[0].peak.active.bytes);
      assert.ok(sum <= flame.tree.bytes[0] && sum > 0, "what has no stack is not in the table of stacks");
    }));
});
