// The state of memory after any step: segments, events, stepping, scrubbing.
// Run by `npm run test:browser` in web/; see harness.mjs for what it needs.
import {
  ask, assert, assertReadable, describe, example, FSDP, hashOf, it, NO_TRACE, opened, quiet, use,
  waitForParam, whyNot, withoutFile,
} from "./harness.mjs";

const skip = whyNot();

const rows = (page) => page.locator(".segrow:not(.head)");
const ready = (page) => page.waitForSelector(".segrow:not(.head) canvas");

describe("the state", { skip, timeout: 600_000 }, () => {
  const here = opened(() => [
      example("oom.pickle.zst"),
      example("two_gpus.pickle.zst"),
      example("fragmented.pickle.zst"),
    ]);
  const { at } = here;

  it("lists every segment with its blocks, in groups, and adds up to what was live", () =>
    use(here.browser, at("#state?file=2"), async (page) => {
      await ready(page);
      assert.ok((await rows(page).count()) > 0);
      assert.match(await page.locator(".grouphead").first().innerText(), /stream \d.*segment/s);
      const { devices } = (await ask(page, "session")).files[2];
      const { ordinal, events } = devices[0];
      for (const step of [0, Math.floor(events / 2), events - 1]) {
        const place = `file=2&device=${ordinal}`;
        const layout = await ask(page, `state?${place}&step=${step}&limit=0`);
        const { totals } = await ask(page, `at?${place}&axis=step&x=${step}`);
        assert.equal(layout.sums.live_bytes, totals.active_bytes, `step ${step}`);
        assert.equal(layout.sums.owned_bytes, totals.reserved_bytes, `step ${step}`);
      }
    }));

  it("steps with the arrow keys; the list, the bars and the URL follow", () =>
    use(here.browser, at("#state?at=40"), async (page) => {
      await ready(page);
      await page.waitForSelector(".evrow[aria-selected=true]");
      await page.keyboard.press("ArrowRight");
      assert.equal(await waitForParam(page, "at", (now) => now === "41"), "41");
      await page.waitForFunction(
        () => document.querySelector(".evrow[aria-selected=true] .i")?.textContent === "41",
      );
      await page.waitForFunction(() =>
        document.querySelector("#segments")?.getAttribute("aria-label")?.includes("step 41,"),
      );
      await page.keyboard.press("[");
      await page.keyboard.press("[");
      await waitForParam(page, "at", (now) => now === "39");
      await page.keyboard.press("Shift+ArrowRight");
      await waitForParam(page, "at", (now) => now === "49");
      await page.keyboard.press("Home");
      await waitForParam(page, "at", (now) => now === "0");
      await page.keyboard.press("ArrowLeft");
      await quiet(page);
      assert.equal(hashOf(page).params.get("at"), "0", "nothing is before the first event");
    }));

  it("filters the events by kind, size and words, and steps through what is left", () =>
    use(here.browser, at("#state?at=0"), async (page) => {
      await ready(page);
      const total = async () => Number((await page.locator(".ev-h .num").innerText()).replaceAll(",", ""));
      const all = await total();
      await page.keyboard.press("e");
      await page.keyboard.type(">1MiB");
      await waitForParam(page, "ev", (now) => now === ">1MiB");
      await page.waitForFunction(
        (before) => Number(document.querySelector(".ev-h .num")?.textContent?.replaceAll(",", "")) < before,
        all,
      );
      const large = await total();
      assert.ok(large > 0 && large < all, `${large} of ${all}`);
      await page.locator("#event-list").focus();
      await page.keyboard.press("ArrowDown");
      const first = Number(await waitForParam(page, "at", (now) => now !== "0"));
      const { device } = await page.evaluate(() => ({
        device: new URLSearchParams(location.hash.split("?")[1]).get("dev"),
      }));
      const { devices } = (await ask(page, "session")).files[0];
      const ordinal = device ?? devices.find((one) => one.ooms.length > 0).ordinal;
      const answer = await ask(page, `events?file=0&device=${ordinal}&limit=10&size=%3E1MiB`);
      assert.ok(answer.rows.some((row) => row.step === first), `step ${first} is listed`);
      await page.locator(".evfilter .pick").click();
      await page.locator(".menu [role=option]", { hasText: "out of memory" }).click();
      await waitForParam(page, "act", (now) => now === "oom");
      await page.locator("#event-words").fill("nothing_is_called_so");
      await page.waitForSelector(".evnote >> text=No event matches");
      await page.locator(".evnote button").click();
      await waitForParam(page, "ev", (now) => now === null);
    }));

  it("chooses a segment and says what pins it; a block in its bar is selected by a click", () =>
    use(here.browser, at("#state?file=2"), async (page) => {
      await ready(page);
      const pinned = rows(page).filter({ has: page.locator(".pinby .mono") });
      await pinned.first().locator("[role=gridcell]").first().click();
      const seg = await waitForParam(page, "seg", Boolean);
      const side = page.locator(".side");
      await side.locator("h3", { hasText: "After step" }).waitFor();
      assert.match(await side.innerText(), /Can be returned/);
      assert.match(await side.innerText(), /Parts in order of address/);
      assert.ok((await side.locator(".pins .plainrow").count()) > 0);
      // any block of the list
      await side.locator(".pins .plainrow:not([disabled])").first().click();
      const sel = await waitForParam(page, "sel", Boolean);
      await side.locator("h2.big").waitFor();
      const found = await ask(page, `allocation?file=2&id=${sel}`);
      assert.equal(String(found.segment.id), seg);
      await page.keyboard.press("Escape");
      await waitForParam(page, "sel", (now) => now === null);
      await page.keyboard.press("Escape");
      await waitForParam(page, "seg", (now) => now === null);
    }));

  it("finds the block under a click in a bar", () =>
    use(here.browser, at("#state?file=2"), async (page) => {
      await ready(page);
      const canvases = await page.locator(".segrow canvas").all();
      for (const canvas of canvases) {
        const box = await canvas.boundingBox();
        for (const share of [0.1, 0.4, 0.7, 0.9]) {
          await page.mouse.click(box.x + box.width * share, box.y + box.height / 2);
          await quiet(page);
          if (hashOf(page).params.get("sel") !== null) return;
        }
      }
      assert.fail("no click in any bar selected a block");
    }));

  it("sorts in the engine, groups or not, in shares or to scale; a link keeps it", () =>
    use(here.browser, at("#state?file=2&order=size&flat=1&scale=1"), async (page) => {
      await ready(page);
      assert.equal(await page.locator(".grouphead").count(), 0);
      assert.match(await page.locator(".segrow.head").innerText(), /one scale/);
      await page.locator(".pick[title='Sort the segments']").click();
      await page.locator(".menu [role=option]", { hasText: "address" }).click();
      await waitForParam(page, "order", (now) => now === "address");
      await quiet(page);
      const addresses = await page.locator(".segrow .mono.faint").evaluateAll((all) =>
        all.map((one) => one.getAttribute("title").split(",")[0]),
      );
      assert.deepEqual(addresses, [...addresses].sort());
    }));

  it("is scrubbed along the strip, and played", () =>
    use(here.browser, at("#state"), async (page) => {
      await ready(page);
      const box = await page.locator("#scrubber").boundingBox();
      const events = Number(await page.locator("#scrubber").getAttribute("aria-valuemax")) + 1;
      await page.mouse.move(box.x + box.width * 0.2, box.y + 20);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.5, box.y + 20, { steps: 8 });
      await page.mouse.up();
      const now = async () => Number(await page.locator("#scrubber").getAttribute("aria-valuenow"));
      await waitForParam(page, "at", Boolean);
      await quiet(page);
      const half = await now();
      assert.equal(await waitForParam(page, "at", (text) => text === String(half)), String(half));
      assert.ok(Math.abs(half - events / 2) <= events * 0.02 + 1, `${half} of ${events}`);
      await page.locator("#segments").focus();
      await page.keyboard.press(" ");
      await page.waitForFunction(
        (from) => Number(document.querySelector("#scrubber")?.getAttribute("aria-valuenow")) > from,
        half,
      );
      const timers = () => page.evaluate(() => window.tidegaugeWork.timers.size);
      assert.ok((await timers()) > 0, "a player is a timer");
      await page.keyboard.press(" ");
      await page.getByRole("button", { name: "Play" }).waitFor();
      await quiet(page);
      assert.equal(await timers(), 0, "nothing moves the cursor while it is paused");
      const stopped = await now();
      await waitForParam(page, "at", (text) => text === String(stopped));
    }));

  it("is chosen from by the keyboard alone", () =>
    use(here.browser, at("#state?file=2"), async (page) => {
      await ready(page);
      await page.locator("#segments").focus();
      await page.keyboard.press("ArrowDown");
      const first = await waitForParam(page, "seg", Boolean);
      await page.keyboard.press("ArrowDown");
      await waitForParam(page, "seg", (now) => now !== first);
      await page.keyboard.press("ArrowUp");
      await waitForParam(page, "seg", (now) => now === first);
    }));

  it("gives axe nothing to complain about, in either theme and at either width", () =>
    assertReadable(here.browser, at("#state?file=2&seg=0"), ready));
});

describe("the state of shared files", { skip: skip || withoutFile(FSDP), timeout: 600_000 }, () => {
  const here = opened(() => [FSDP, NO_TRACE]);

  it("lists hundreds of segments, of which only the seen ones exist", () =>
    use(here.browser, `${here.address}#state`, async (page) => {
      await ready(page);
      const total = Number(await page.locator("#segments").getAttribute("aria-rowcount"));
      assert.ok(total > 200, `${total} segments`);
      assert.ok((await rows(page).count()) < 80);
      await page.locator("#segments").evaluate((el) => el.scrollTo(0, el.scrollHeight));
      await page.waitForFunction(
        (last) => document.querySelector(`#segment-${last} canvas`) !== null,
        total - 1,
      );
    }));

  it("brings the row of a segment into view that a link chooses", () =>
    use(here.browser, here.address, async (page) => {
      const { ordinal, events } = (await ask(page, "session")).files[0].devices[0];
      const last = `state?file=0&device=${ordinal}&step=${events - 1}&sort=waste&offset=250&limit=1`;
      const [far] = (await ask(page, last)).segments;
      await page.goto(`${here.address}#state?at=${events - 1}&seg=${far.segment.id}`);
      await page.waitForSelector(".segrow[aria-selected=true] canvas");
      assert.match(await page.locator(".side").innerText(), new RegExp(far.segment.address_id));
    }));

  it("shows the final state of a file without events", () =>
    use(here.browser, `${here.address}#state?file=1`, async (page) => {
      await ready(page);
      assert.match(await page.locator(".viewhead").innerText(), /no events/);
      assert.equal(await page.locator(".events").count(), 0);
      assert.match(await page.locator(".statefoot").innerText(), /pending/);
    }));
});
