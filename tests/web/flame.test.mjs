// The flame view as people use it: see harness.mjs for what it needs.
import {
  ask, assert, axeComplaints, describe, example, expectRefusals, FSDP, hashOf, it, NO_TRACE,
  opened, quiet, startServer, until, use, waitForParam, whyNot, withoutFile,
} from "./harness.mjs";

const skip = whyNot();
const ROW = 26;

/** Waits until the picture is there and nothing is on its way. */
async function drawn(page) {
  await page.waitForSelector("#flame");
  await page.waitForSelector('.flamebody[aria-busy="false"]');
  await quiet(page);
}

/** Presses a cell by its row and its share of the width. */
async function press(page, row, share, options) {
  const box = await page.locator("#flame").boundingBox();
  await page.mouse.click(box.x + box.width * share, box.y + row * ROW + ROW / 2, options);
}

/** The colour of a cell, as the canvas has it. */
function colourOf(page, row, share) {
  return page.evaluate(
    ([r, s, height]) => {
      const canvas = document.querySelector("#flame");
      const ratio = canvas.width / canvas.clientWidth;
      const x = Math.round(canvas.clientWidth * s * ratio);
      const y = Math.round((r * height + 4) * ratio);
      return [...canvas.getContext("2d").getImageData(x, y, 1, 1).data].slice(0, 3).join(",");
    },
    [row, share, ROW],
  );
}

describe("the flame view", { skip, timeout: 600_000 }, () => {
  const here = opened(() => [example("oom.pickle.zst"), example("annotated.pickle.zst")]);
  const { at } = here;

  it("shows what is live at the cursor, all of it", () =>
    use(here.browser, at("#flame?at=200"), async (page) => {
      await drawn(page);
      const state = await ask(page, "at?file=0&axis=step&x=200");
      const flame = await ask(page, "flame?file=0&of=live&step=200");
      assert.equal(flame.tree.bytes[0], state.totals.active_bytes);
      const self = flame.tree.self_bytes.reduce((sum, bytes) => sum + bytes, 0);
      assert.equal(self, flame.tree.bytes[0], "every byte has a cell");
      assert.match(await page.locator(".viewhead .sub").innerText(), /live after step 200, .* in \d+ block/);
      assert.ok((await page.locator(".flamelist tbody tr").count()) > 1);
    }));

  it("shows the peak, what a range allocated, growth between marks, and churn", () =>
    use(here.browser, at("#flame"), async (page) => {
      await drawn(page);
      for (const [name, of] of [
        ["At peak", "peak"],
        ["Allocated", "allocated"],
        ["Growth", "growth"],
        ["Churn", "churn"],
      ]) {
        const answer = page.waitForResponse((response) => response.url().includes(`of=${of}`));
        await page.getByRole("button", { name, exact: true }).click();
        assert.equal((await answer).status(), 200);
        await waitForParam(page, "flame", (now) => now === of);
        const strip = await page.locator(".spanstrip").count();
        assert.equal(strip, of === "peak" ? 0 : 1, `${of} and its range`);
      }
      await page.keyboard.press("M");
      await waitForParam(page, "flame", (now) => now === "growth");
      await page.getByLabel("First mark").fill("100");
      await page.getByLabel("First mark").press("Enter");
      await page.getByLabel("second").fill("300");
      const asked = page.waitForResponse((response) => /from=100&to=300/.test(response.url()));
      await page.getByLabel("second").press("Enter");
      await asked;
      await waitForParam(page, "span", (now) => now === "100,300");
      assert.match(await page.locator(".viewhead .sub").innerText(), /growth from step 100 to 300/);
      assert.match(await page.locator(".viewhead .sub").innerText(), /[+−][\d.]+ [KMG]iB/);
    }));

  it("takes the range of the timeline", () =>
    use(here.browser, at("#flame?flame=allocated&x=50,150"), async (page) => {
      await drawn(page);
      assert.match(await page.locator(".viewhead .sub").innerText(), /steps 50 – 149/);
    }));

  it("picks a frame with a press: the other views filter by it, nothing moves", () =>
    use(here.browser, at("#flame?flame=peak"), async (page) => {
      await drawn(page);
      const flame = await ask(page, "flame?file=0&of=peak&nodes=4000");
      const { parent, bytes, frame } = flame.tree;
      const first = parent
        .map((from, i) => [from, i])
        .filter(([from, i]) => from === 0 && frame[i] >= 0)
        .sort((a, b) => bytes[b[1]] - bytes[a[1]])[0][1];
      const before = await page.locator(".flamelist tbody tr").count();
      await press(page, 1, 0.05);
      const filter = await waitForParam(page, "filter", Boolean);
      assert.equal(filter, `frame:${flame.frames[frame[first]].id}`);
      assert.match(await page.locator(".side").innerText(), /Called by[\s\S]*Calls/);
      await page.waitForSelector(".filterbar .fchip");
      await drawn(page);
      assert.equal(await page.locator(".flamelist tbody tr").count(), before, "the list stays");
      await page.locator(".filterbar [role=status]").waitFor();
      const passing = await ask(page, `filter?file=0&filter=${encodeURIComponent(filter)}`);
      assert.ok(passing.count > 0 && passing.count <= passing.total_count);
      await page.keyboard.press("2");
      await page.waitForSelector("#timeline");
      assert.equal(hashOf(page).params.get("filter"), filter, "the timeline filters by it");
    }));

  it("greys what does not lead to the picked frame, and colours it again", () =>
    use(here.browser, at("#flame?flame=peak"), async (page) => {
      await drawn(page);
      const plain = await colourOf(page, 1, 0.995);
      await press(page, 1, 0.05);
      await waitForParam(page, "filter", Boolean);
      await drawn(page);
      const flame = await ask(page, "flame?file=0&of=peak");
      const tops = flame.tree.parent.filter((from) => from === 0).length;
      if (tops > 1) assert.notEqual(await colourOf(page, 1, 0.995), plain);
      await page.keyboard.press("Escape");
      await page.keyboard.press("Escape");
      await waitForParam(page, "filter", (now) => now === null);
      await drawn(page);
      assert.equal(await colourOf(page, 1, 0.995), plain);
    }));

  it("is walked, zoomed, picked and turned with the keyboard", () =>
    use(here.browser, at("#flame?flame=peak"), async (page) => {
      await drawn(page);
      await page.locator("#flame").focus();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowDown");
      await page.waitForSelector(".tip.on");
      assert.match(await page.locator(".tip").innerText(), /Share of the picture/);
      await page.keyboard.press("Enter");
      const zoom = await waitForParam(page, "zoom", Boolean);
      assert.match(zoom, /^\d+$/);
      await page.keyboard.press("Backspace");
      await waitForParam(page, "zoom", (now) => now === null);
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Space");
      assert.match(await waitForParam(page, "filter", Boolean), /^frame:\d+$/);
      await drawn(page); // keys act on the picture that is there
      await page.keyboard.press("b");
      assert.match(await waitForParam(page, "sandwich", Boolean), /^\d+$/);
      await drawn(page);
      assert.match(await page.locator("#flame").getAttribute("aria-label"), /^Sandwich/);
      await page.keyboard.press("b");
      await waitForParam(page, "sandwich", (now) => now === null);
    }));

  it("keeps what a key finds in a picture that has just changed", () =>
    use(here.browser, at("#flame?flame=peak"), async (page) => {
      await drawn(page);
      await page.locator("#flame").focus();
      for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
      await waitForParam(page, "zoom", Boolean);
      await drawn(page);
      // in one task, as if typed faster than the page paints
      await page.locator("#flame").evaluate((canvas) => {
        for (const key of ["Backspace", "ArrowDown", "ArrowDown"])
          canvas.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, composed: true }));
      });
      await drawn(page);
      await page.keyboard.press("Space");
      assert.match(await waitForParam(page, "filter", Boolean), /^frame:\d+$/);
    }));

  it("points frames out by text or expression, with their sum", () =>
    use(here.browser, at("#flame?flame=peak"), async (page) => {
      await drawn(page);
      const flame = await ask(page, "flame?file=0&of=peak");
      const name = flame.frames.find((frame) => frame.user).function.slice(0, 12);
      await page.keyboard.press("p");
      await page.keyboard.type(name);
      await waitForParam(page, "find", (now) => now === name);
      assert.match(await page.locator(".flametools").innerText(), /in \d+ cell/);
      await page.locator("#flame-find").fill("/(/");
      await page.waitForSelector("text=/regular expression/i");
      await page.locator("#flame-find").fill("no such frame anywhere");
      await page.waitForSelector("text=no frame matches");
    }));

  it("hides frames; their bytes stay", () =>
    use(here.browser, at("#flame?flame=peak"), async (page) => {
      await drawn(page);
      const sub = await page.locator(".viewhead .sub").innerText();
      const hidden = page.waitForResponse((response) => /hide=/.test(response.url()));
      await page.locator("#flame-hide").fill("/./");
      const answer = await (await hidden).json();
      await waitForParam(page, "hide", Boolean);
      assert.ok(answer.tree.bytes[0] > 0);
      await drawn(page);
      assert.equal(await page.locator(".viewhead .sub").innerText(), sub);
      expectRefusals(page);
      await page.locator("#flame-hide").fill("/(/");
      await page.waitForSelector(".note-box");
    }));

  it("says when nothing grew, and offers the peak", () =>
    use(here.browser, at("#flame?flame=growth&span=100,101&filter=size:>1TiB"), async (page) => {
      await page.waitForSelector(".note-box");
      assert.match(await page.locator(".note-box").innerText(), /No growth[\s\S]*second mark/);
      await page.getByRole("button", { name: "Clear the filter" }).click();
      await waitForParam(page, "filter", (now) => now === null);
      assert.deepEqual(await axeComplaints(page), []);
    }));

  it("has the colours of categories, the same in cell and legend", () =>
    use(here.browser, at("#flame?flame=peak&colour=category"), async (page) => {
      await drawn(page);
      const flame = await ask(page, "flame?file=0&of=peak");
      assert.equal(flame.tree.category.length, flame.tree.nodes);
      const known = flame.tree.category.filter((slot) => slot >= 0);
      assert.ok(known.length > 0);
      assert.ok((await page.locator(".flamelist .sw").count()) > 0);
      await page.getByRole("button", { name: /Colour category/ }).click();
      await page.getByRole("option", { name: "stack" }).click();
      await waitForParam(page, "colour", (now) => now === null);
    }));

  it("keeps everything in its link", () =>
    use(here.browser, at("#flame?flame=growth&span=20,220&frames=python&find=forward&filter=size:>=1k"), async (page) => {
      await drawn(page);
      const before = await page.locator(".viewhead .sub").innerText();
      await page.reload();
      await drawn(page);
      assert.equal(await page.locator(".viewhead .sub").innerText(), before);
      assert.equal(await page.locator("#flame-find").inputValue(), "forward");
      assert.equal(await page.locator(".fchip").count(), 1);
    }));

  it("passes axe in both themes and at the smallest width", async () => {
    for (const viewport of [
      { width: 1440, height: 900 },
      { width: 1024, height: 700 },
    ]) {
      await use(
        here.browser,
        at("#flame?flame=growth&span=0,300&filter=size:>=1k"),
        async (page) => {
          await drawn(page);
          assert.deepEqual(await axeComplaints(page), []);
          const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
          const before = await theme();
          await page.keyboard.press("t");
          assert.ok(await until(async () => (await theme()) !== before));
          await quiet(page);
          assert.deepEqual(await axeComplaints(page), []);
          const wider = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
          assert.ok(wider <= 0, `${wider} pixels too wide`);
        },
        { viewport },
      );
    }
  });

  it("switches between Python and C++ frames", { skip: withoutFile(FSDP) }, async () => {
    const mine = await startServer([FSDP]);
    try {
      await use(here.browser, `${mine.address}#flame?flame=peak`, async (page) => {
        await drawn(page);
        const kinds = {};
        for (const [name, kind] of [
          ["Python", "python"],
          ["C++", "cpp"],
        ]) {
          const answer = page.waitForResponse((response) => response.url().includes(`frames=${kind}`));
          await page.getByRole("button", { name, exact: true }).click();
          const { frames, tree } = await (await answer).json();
          kinds[kind] = new Set(frames.map((frame) => frame.kind));
          assert.ok(tree.bytes[0] > 0);
        }
        assert.ok(!kinds.python.has("cpp"));
      });
    } finally {
      await mine.stop();
    }
  });

  it("works without a history", { skip: withoutFile(NO_TRACE) }, async () => {
    const mine = await startServer([NO_TRACE]);
    try {
      await use(here.browser, `${mine.address}#flame`, async (page) => {
        await drawn(page);
        assert.match(await page.locator(".viewhead .sub").innerText(), /final state/);
        assert.ok(await page.getByRole("button", { name: "Growth" }).isDisabled());
      });
    } finally {
      await mine.stop();
    }
  });
});
