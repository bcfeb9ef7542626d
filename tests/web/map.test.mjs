// The address map: rectangles over time and address, both axes under the hand.
// Run by `npm run test:browser` in web/; see harness.mjs for what it needs.
import {
  ask, assert, assertReadable, describe, example, FSDP, hashOf, it, NO_TRACE, opened, settled,
  use, waitForParam, whyNot, withoutFile,
} from "./harness.mjs";

const skip = whyNot();

async function middle(page, right = 0.5, down = 0.5) {
  const box = await page.locator("#map").boundingBox();
  return { x: box.x + 74 + (box.width - 74) * right, y: box.y + box.height * down };
}

/** Where a block is drawn while everything is in view: the middle of its life and of its bytes. */
async function spotOf(page, file, row) {
  const { devices } = (await ask(page, "session")).files[file];
  const place = `file=${file}&device=${devices[0].ordinal}`;
  const table = await ask(page, `table?${place}&name=allocations&sort=block_bytes&offset=${row}&limit=1`);
  const id = table.rows[0][table.columns.findIndex((one) => one.name === "id")];
  const block = await ask(page, `allocation?file=${file}&id=${id}`);
  const ranges = await ask(page, `ranges?${place}`);
  const home = ranges.rows.findLast((one) => BigInt(one.address) <= BigInt(block.address));
  const low = home.y + Number(BigInt(block.address) - BigInt(home.address));
  const step = (block.first_step + block.last_step) / 2;
  const plot = await page.evaluate(() => {
    const { left, top, width, height } = document.querySelector("canvas.blocks").getBoundingClientRect();
    return { left, top, width, height };
  });
  // a little room is left after the last step
  const steps = devices[0].events * 1.036;
  return {
    id,
    block,
    place,
    axis: low + block.block_bytes / 2,
    x: plot.left + (step / steps) * plot.width,
    y: plot.top + plot.height * (1 - (low + block.block_bytes / 2) / ranges.axis_bytes),
  };
}

describe("the map", { skip, timeout: 600_000 }, () => {
  const here = opened(() => [example("oom.pickle.zst"), example("fragmented.pickle.zst")]);
  const { at } = here;

  it("draws within its budget of quads, and names its ranges", () =>
    use(here.browser, at("#map"), async (page) => {
      await settled(page);
      const stats = await page.evaluate(() => ({ ...window.tidegaugeStats }));
      assert.ok(stats.quads > 10 && stats.quads <= 50_000, `${stats.quads} quads`);
      assert.ok(stats.tiles >= 1 && stats.tiles <= 6, `${stats.tiles} tiles`);
      assert.match(await page.locator(".viewhead .sub").innerText(), /range.* reserved/);
    }));

  it("zooms both axes with the wheel, pans by dragging; the URL follows, f fits", () =>
    use(here.browser, at("#map"), async (page) => {
      await settled(page);
      const { x, y } = await middle(page);
      await page.mouse.move(x, y);
      await page.mouse.wheel(0, -400);
      await waitForParam(page, "x", Boolean);
      assert.equal(hashOf(page).params.get("ay"), null, "the addresses stay");
      await page.keyboard.down("Shift");
      await page.mouse.wheel(0, -400);
      await page.keyboard.up("Shift");
      const zoomed = (await waitForParam(page, "ay", Boolean)).split(",").map(Number);
      await page.mouse.down();
      await page.mouse.move(x, y + 60, { steps: 6 });
      await page.mouse.up();
      const panned = (await waitForParam(page, "ay", (now) => now !== zoomed.join(","))).split(",").map(Number);
      assert.ok(panned[0] > zoomed[0], "dragging down shows what lies higher");
      assert.equal(hashOf(page).params.get("sel"), null, "a drag is not a click");
      await page.keyboard.press("f");
      await waitForParam(page, "ay", (now) => now === null);
      await waitForParam(page, "x", (now) => now === null);
    }));

  it("does the same by keys alone", () =>
    use(here.browser, at("#map"), async (page) => {
      await settled(page);
      await page.locator("#map").focus();
      await page.keyboard.press("w");
      const zoomed = await waitForParam(page, "x", Boolean);
      await page.keyboard.press("d");
      await waitForParam(page, "x", (now) => now !== zoomed);
      await page.keyboard.press("Shift+W");
      const high = await waitForParam(page, "ay", Boolean);
      await page.keyboard.press("Shift+ArrowUp");
      await waitForParam(page, "ay", (now) => now !== high);
      await page.keyboard.press("f");
      await waitForParam(page, "ay", (now) => now === null);
      await page.keyboard.press("ArrowUp");
      const first = await waitForParam(page, "sel", Boolean);
      await page.keyboard.press("ArrowUp");
      await waitForParam(page, "sel", (now) => now !== first);
    }));

  it("selects what lies there, as the server knows it, with and without WebGL", async () => {
    for (const query of ["", "?gl=0"]) {
      await use(here.browser, `${here.address}${query}#map?file=1`, async (page) => {
        await settled(page);
        if (query !== "") assert.match(await page.locator(".status").innerText(), /Canvas/);
        const spot = await spotOf(page, 1, 0);
        await page.mouse.click(spot.x, spot.y);
        await waitForParam(page, "sel", (now) => now === String(spot.id));
        const step = Number(hashOf(page).params.get("at"));
        assert.ok(step >= spot.block.first_step && step <= spot.block.last_step, `step ${step}`);
        const picked = await ask(page, `map_pick?${spot.place}&step=${step}&at=${spot.axis}`);
        assert.equal(picked.allocation.id, spot.id);
        await page.keyboard.press("Escape");
        await waitForParam(page, "sel", (now) => now === null);
      });
    }
  });

  it("leads to the same block in the state and in the timeline", () =>
    use(here.browser, at("#map?file=1"), async (page) => {
      await settled(page);
      const { id: sel, x, y } = await spotOf(page, 1, 3);
      await page.mouse.click(x, y);
      await waitForParam(page, "sel", (now) => now === String(sel));
      for (const [name, selector] of [["State", "#segments"], ["Timeline", "#timeline"], ["Map", "#map"]]) {
        await page.locator(".side .links a", { hasText: name }).click();
        await page.waitForSelector(selector);
        await page.locator(".side .id", { hasText: /^b/ }).waitFor();
        assert.equal(hashOf(page).params.get("sel"), String(sel));
      }
    }));

  it("colours the blocks live at the out-of-memory event red, small ones too", () =>
    use(here.browser, at("#map"), async (page) => {
      await settled(page);
      const filters = [];
      page.on("request", (request) => {
        if (request.url().includes("api/map?")) filters.push(new URL(request.url()).searchParams.get("filter"));
      });
      const before = await page.locator("#map").screenshot();
      await page.keyboard.press("r");
      await waitForParam(page, "red", (now) => now === "1");
      await settled(page);
      assert.equal(await page.locator(".viewhead .btn[aria-pressed=true]").count(), 1);
      assert.ok(filters.length > 0 && filters.every((one) => /^live:\d+/.test(one)), filters.join());
      assert.ok(!before.equals(await page.locator("#map").screenshot()));
    }));

  it("shows the whole span of addresses on demand", () =>
    use(here.browser, at("#map?file=1"), async (page) => {
      await settled(page);
      const asked = page.waitForRequest((request) => /api\/map\?.*y=plain/.test(request.url()));
      await page.locator(".seg button", { hasText: "Whole span" }).click();
      await asked;
      await waitForParam(page, "whole", (now) => now === "1");
      await settled(page);
    }));

  it("makes a phase the range with a click on its band", () =>
    use(here.browser, at("#map"), async (page) => {
      await settled(page);
      const { devices } = (await ask(page, "session")).files[0];
      const { rows } = await ask(page, `annotations?file=0&device=${devices[0].ordinal}`);
      const outer = rows.filter((one) => one.depth === 0 && one.end_step > one.begin_step);
      const { begin_step, end_step } = outer.sort((a, b) => b.end_step - b.begin_step - a.end_step + a.begin_step)[0];
      const box = await page.locator("canvas.blocks").boundingBox();
      const front = await page.locator("#map").boundingBox();
      const share = (begin_step + end_step) / 2 / (devices[0].events * 1.036);
      await page.mouse.click(box.x + share * box.width, front.y + 10);
      const [low, high] = (await waitForParam(page, "x", Boolean)).split(",").map(Number);
      assert.ok(Math.abs(low - begin_step) < 1 && Math.abs(high - end_step) < 1, `${low} … ${high}`);
    }));

  it("survives the loss of its WebGL context", () =>
    use(here.browser, at("#map"), async (page) => {
      await settled(page);
      const frames = await page.evaluate(async () => {
        const gl = document.querySelector("canvas.blocks").getContext("webgl2");
        const lose = gl.getExtension("WEBGL_lose_context");
        const before = window.tidegaugeStats.frames;
        lose.loseContext();
        await new Promise((next) => setTimeout(next, 100));
        lose.restoreContext();
        return before;
      });
      await page.waitForFunction((before) => window.tidegaugeStats.frames > before, frames);
      await settled(page);
    }));

  it("gives axe nothing to complain about, in either theme and at either width", () =>
    assertReadable(here.browser, at("#map?red=1"), settled));
});

describe("the map of shared files", { skip: skip || withoutFile(FSDP), timeout: 600_000 }, () => {
  const here = opened(() => [FSDP, NO_TRACE]);

  it("stays within six tiles and 50,000 quads at every zoom", () =>
    use(here.browser, `${here.address}#map`, async (page) => {
      await settled(page);
      const { x, y } = await middle(page, 0.8, 0.4);
      await page.mouse.move(x, y);
      for (let i = 0; i < 6; i += 1) {
        await page.keyboard.down("Control");
        await page.mouse.wheel(0, -90);
        await page.keyboard.up("Control");
        await settled(page);
        const stats = await page.evaluate(() => ({ ...window.tidegaugeStats }));
        assert.ok(stats.quads <= 50_000 && stats.tiles <= 6, JSON.stringify(stats));
      }
    }));

  it("says why a file without events has no map", () =>
    use(here.browser, `${here.address}#map?file=1`, async (page) => {
      assert.match(await page.locator(".center .note-box").innerText(), /no history/);
    }));
});
