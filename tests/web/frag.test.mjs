// Fragmentation: figures, plots over time, the fit slider, who pins.
// Run by `npm run test:browser` in web/; see harness.mjs for what it needs.
import {
  ask, assert, axeComplaints, describe, example, FSDP, hashOf, it, NO_TRACE, opened, use,
  waitForParam, whyNot, withoutFile,
} from "./harness.mjs";

const skip = whyNot();

const ready = (page) => page.waitForSelector(".tile");
const tile = (page, name) => page.locator(".tile", { hasText: name });

describe("fragmentation", { skip, timeout: 600_000 }, () => {
  const here = opened(() => [example("oom.pickle.zst"), example("fragmented.pickle.zst")]);
  const { at } = here;

  it("shows what was free, pinned and releasable after a step, with the state's own numbers", () =>
    use(here.browser, at("#fragmentation?file=1"), async (page) => {
      await ready(page);
      const { devices } = (await ask(page, "session")).files[1];
      const { ordinal, events } = devices[0];
      for (const step of [0, Math.floor(events / 2), events - 1]) {
        const place = `file=1&device=${ordinal}`;
        const { now, pools } = await ask(page, `frag_at?${place}&step=${step}`);
        const { sums } = await ask(page, `state?${place}&step=${step}&limit=0`);
        assert.equal(now.free_bytes, sums.free_bytes, `step ${step}`);
        assert.equal(now.pinned_bytes, sums.pinned_bytes, `step ${step}`);
        assert.equal(now.releasable_bytes, sums.releasable_bytes, `step ${step}`);
        assert.equal(now.largest_hole_bytes, sums.largest_free_bytes, `step ${step}`);
        assert.equal(
          pools.reduce((sum, pool) => sum + pool.free_bytes, 0),
          now.free_bytes,
        );
      }
      assert.equal(await page.locator(".tile").count(), 5);
    }));

  it("moves the cursor by a press on a plot and by the arrow keys; the figures follow", () =>
    use(here.browser, at("#fragmentation?file=1"), async (page) => {
      await ready(page);
      await page.waitForSelector(".overtime canvas");
      await page.locator(".fragunused").click({ position: { x: 200, y: 60 } });
      const step = Number(await waitForParam(page, "at", (now) => now !== null));
      assert.ok(step >= 0);
      await page.waitForFunction(
        (wanted) => document.querySelector(".viewhead .strong")?.textContent === wanted,
        step.toLocaleString("en-US"),
      );
      await page.keyboard.press("ArrowRight");
      assert.equal(
        await waitForParam(page, "at", (now) => Number(now) === step + 1),
        String(step + 1),
      );
    }));

  it("forecasts from where the cursor stands, and says what came", () =>
    use(here.browser, at("#fragmentation?file=1"), async (page) => {
      await page.waitForSelector(".overtime canvas");
      const said = (start) =>
        page.waitForFunction(
          (text) => document.querySelector(".forecast")?.textContent.startsWith(text),
          start,
        );
      const { devices } = (await ask(page, "session")).files[1];
      const { events } = devices[0];
      const last = (events - 1).toLocaleString("en-US");
      await said(`Forecast from step ${last}:`);
      assert.doesNotMatch(await page.locator(".forecast").innerText(), /Actual scores/);
      for (const step of [Math.floor(events / 2), Math.floor(events / 20)]) {
        const forecast = await ask(page, `forecast?file=1&step=${step}`);
        assert.ok(forecast.from_step <= step && forecast.steps[0] > step, "made from what was known there");
        await page.goto(at(`#fragmentation?file=1&at=${step}`));
        const from = forecast.from_step.toLocaleString("en-US");
        await said(`Forecast from step ${from}:`);
        const came = forecast.came.map((score) => score.toFixed(1)).join(", ");
        const text = await page.locator(".forecast").innerText();
        assert.match(text, new RegExp(`Actual scores: ${came.replaceAll(".", "\\.")}\\.`));
        assert.equal(/checked at \d+ earlier steps? only/.test(text), forecast.checked < 10, text);
      }
      await page.goto(at("#fragmentation?file=1&at=3"));
      await said("No forecast from step 0: it has 1 of the 10 samples that it needs");
      await page.locator(".fragbody").focus();
      await page.keyboard.press("Escape");
      await said(`Forecast from step ${last}:`);
    }));

  it("takes no size that a request cannot have, and says so", () =>
    use(here.browser, at("#fragmentation"), async (page) => {
      await ready(page);
      await page.waitForSelector(".fitres b");
      const usual = await page.locator(".fragright .fitres").innerText();
      for (const fit of ["0", "-1", "1e99", "abc"]) {
        await page.goto(at(`#fragmentation?fit=${fit}`));
        await page.getByText(`The link asks whether “${fit}” bytes fit`).waitFor();
        assert.equal(hashOf(page).params.get("fit"), null);
        assert.equal(await page.locator(".fragright .fitres").innerText(), usual);
        assert.ok(Number(await page.locator("#fit").inputValue()) >= 9);
      }
    }));

  it("says whether the size of the slider fits, and keeps it in the link", () =>
    use(here.browser, at("#fragmentation?file=0&fit=1099511627776"), async (page) => {
      await ready(page);
      await page.waitForFunction(() =>
        document.querySelector(".fitres b")?.textContent?.includes("1.00 TiB"),
      );
      assert.match(await page.locator(".fragright .fitres").innerText(), /does not fit/);
      await page.locator("#fit").focus();
      await page.keyboard.press("Home");
      assert.equal(await waitForParam(page, "fit", (now) => now === "512"), "512");
      await page.waitForFunction(
        () => document.querySelector(".fitres b")?.textContent === "512 B",
      );
      await page.locator(".fragright .fitres a").click();
      await page.waitForFunction(() => location.hash.startsWith("#state"));
    }));

  it("scores the address space on request", () =>
    use(here.browser, at("#fragmentation?file=1"), async (page) => {
      await ready(page);
      await page.getByRole("button", { name: "Address space" }).click();
      assert.equal(await waitForParam(page, "arena", (now) => now === "address"), "address");
      const step = (await page.locator(".viewhead .strong").innerText()).replaceAll(",", "");
      const { now } = await ask(page, `frag_at?file=1&step=${step}`);
      await page.waitForFunction(
        (score) => document.querySelector(".fraggrid")?.textContent?.includes(score),
        `${now.address.score.toFixed(1)} ${now.address.band}`,
      );
    }));

  it("has no complaint of axe in either theme, and words for whoever hears the page", () =>
    use(here.browser, at("#fragmentation?file=1"), async (page) => {
      await ready(page);
      await page.waitForSelector(".overtime canvas");
      assert.deepEqual(await axeComplaints(page), []);
      await page.emulateMedia({ colorScheme: "dark" });
      assert.deepEqual(await axeComplaints(page), []);
      assert.match(
        await page.locator(".fragunused canvas").getAttribute("aria-label"),
        /Free bytes inside segments over the recording, at most/,
      );
    }));

  it("answers wrong questions in words", () =>
    use(here.browser, at("#fragmentation"), async (page) => {
      for (const [path, word] of [
        ["fit?bytes=0", /bytes/],
        ["fit?bytes=12&step=999999999", /step/],
        ["frag?samples=100000", /samples/],
        ["frag_at?device=77", /device/],
      ]) {
        // not by the page: its console would complain
        const answer = await page.request.get(new URL(`api/${path}`, page.url()).href);
        assert.equal(answer.status(), 400);
        assert.match((await answer.json()).error.what, word);
      }
    }));
});

describe("fragmentation of real files", { skip: skip || withoutFile(FSDP), timeout: 600_000 }, () => {
  const here = opened(() => [FSDP, NO_TRACE]);
  const { at } = here;

  it("an FSDP run that ran out of memory: 807 MiB free, all pinned, 4,008 MiB do not fit", () =>
    use(here.browser, at("#fragmentation"), async (page) => {
      await ready(page);
      assert.match(await tile(page, "Free inside segments").innerText(), /807\s*MiB/);
      assert.match(await tile(page, "Pinned").innerText(), /807\s*MiB\s*all of it, 23 segments/);
      assert.match(await tile(page, "Largest hole").innerText(), /112\s*MiB/);
      await page.waitForSelector(".fitres b");
      assert.match(
        await page.locator(".fragright .fitres").innerText(),
        /3\.91 GiB does not fit .*112 MiB.*None of 805 MiB/s,
      );
      assert.match(
        await page.locator(".table tbody tr").first().innerText(),
        /attention\.py:174 forward[\s\S]*226\s*MiB[\s\S]*192\s*MiB\s*1\.2/,
      );
      const { pins } = await ask(page, "frag_at");
      // Who called by the line alone; what was called (›) whole.
      const shown = ({ caller }) => (caller.startsWith("› ") ? caller : caller.split(" ")[0]);
      const callers = new Set(pins.rows.map(shown).filter(Boolean));
      for (const row of await page.locator(".table tbody tr .fi").allInnerTexts()) {
        if (/[‹›]/.test(row)) callers.delete(row.replace("‹", "").trim());
      }
      assert.deepEqual([...callers], [], "every row names its caller");
      assert.match(await page.locator(".fragbody").innerText(), /come first, by pinned bytes per live byte/);
    }));

  it("of a file without events: the final state, pool by pool, and no plots over time", () =>
    use(here.browser, at("#fragmentation?file=1"), async (page) => {
      await ready(page);
      await page.waitForSelector(".table");
      assert.equal(await page.locator(".overtime").count(), 0);
      assert.match(await page.locator(".fragbody").innerText(), /MemPool 2[\s\S]*default pool/);
      assert.equal(hashOf(page).params.get("at"), null);
    }));
});
