// Recordings side by side: one window, one scale, one cursor for several files or devices.
// Run by `npm run test:browser` in web/; see harness.mjs for what it needs.
import {
  after, ask, assert, assertHeadFits, axeComplaints, describe, example, hashOf, it, keyOf, opened,
  settled, shared, use, waitForParam, whyNot, withoutFile,
} from "./harness.mjs";
import { OOM_RANK, RANKS, writeLaneFiles } from "./lanes_files.mjs";

const skip = whyNot();
const SHARED_RANKS = [shared("fsdp-oom-rank0.pickle.zst"), shared("fsdp-oom-rank1.pickle.zst")];
const THREE_GPUS = shared("three-gpus-expandable-oom.pickle.zst");
const UNITS = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };

const stats = (page) => page.evaluate(() => ({ ...window.tidegaugeStats }));

/** What the rows say: key of the lane, its name, and bytes as printed with half of their last digit. */
async function rows(page) {
  await page.waitForSelector("#lane-list .lane dl");
  const texts = await page.locator("#lane-list .lane").evaluateAll((all) =>
    all.map((row) => ({
      key: row.id.replace("lane-", ""),
      name: row.querySelector(".lname").textContent,
      active: row.querySelectorAll("dd.num, dd .num")[0]?.textContent ?? "",
      selected: row.getAttribute("aria-selected") === "true",
      figures: [...row.querySelectorAll("dd")].map((one) => one.textContent),
    })),
  );
  return texts;
}

function bytesOf(text) {
  const found = /([\d,.]+)\s*([KMGT]?i?B)$/.exec(text);
  assert.ok(found, text);
  const digits = found[1].replaceAll(",", "");
  const decimals = digits.includes(".") ? digits.length - digits.indexOf(".") - 1 : 0;
  return { bytes: Number(digits) * UNITS[found[2]], within: (UNITS[found[2]] * 0.51) / 10 ** decimals };
}

/** What a link must bring back; it rounds bytes to thousandths. */
const pictureOf = ({ lanes, quads }) => ({
  lanes: lanes.map(({ key, bytesPerPixel }) => [key, Math.round(bytesPerPixel)]),
  quads,
});

/** The picture that stays: the same when it has settled once more. */
async function steady(page) {
  for (let last = ""; ; ) {
    await settled(page);
    const now = await stats(page);
    const text = JSON.stringify(pictureOf(now));
    if (text === last) return now;
    last = text;
  }
}

/** Every row shows what the server says of its lane at that place. */
async function assertFigures(page, query) {
  for (const row of await rows(page)) {
    const [file, device] = row.key.split("/");
    const { totals } = await ask(page, `at?file=${file}&device=${device}&${query}`);
    const [active, , reserved] = row.figures;
    for (const [text, bytes] of [
      [active, totals.active_bytes],
      [reserved ?? row.figures[1], totals.reserved_bytes],
    ]) {
      const shown = bytesOf(text);
      assert.ok(Math.abs(shown.bytes - bytes) <= shown.within, `${row.name}: ${text}, not ${bytes}`);
    }
  }
}

function assertSameScale({ lanes }) {
  assert.ok(lanes.length > 1);
  for (const { bytesPerPixel } of lanes) {
    assert.ok(Math.abs(bytesPerPixel / lanes[0].bytesPerPixel - 1) < 0.03, JSON.stringify(lanes));
  }
}

describe("recordings side by side", { skip, timeout: 600_000 }, () => {
  let files;
  const here = opened(() => {
    files = writeLaneFiles();
    return [...files.ranks, files.bad, files.ranks[0]];
  });
  after(() => files?.remove());
  const { at } = here;
  const count = RANKS + 1;

  it("are offered in the rail, by a key and in the top bar, and named apart", () =>
    use(here.browser, here.address, async (page) => {
      await page.keyboard.press(await keyOf(page, "Side by side"));
      await settled(page);
      const names = (await rows(page)).map((row) => row.name);
      assert.equal(names.length, count);
      assert.equal(new Set(names).size, count, names.join(" | "));
      assert.ok(names.includes("rank0/snapshot.pickle (2)"), names.join(" | "));
      await page.locator(".topbar .file[aria-haspopup]").click();
      const menu = await page.locator(".menu [role=option] .mono").allInnerTexts();
      assert.equal(new Set(menu).size, count, menu.join(" | "));
      await page.keyboard.press("Escape");
      await page.keyboard.press("L");
      await page.waitForSelector("#timeline");
      await page.locator(".topbar [title^='Side by side']").click();
      await page.waitForSelector("#lanes");
    }));

  it("say which file was not read, and why", () =>
    use(here.browser, here.address, async (page) => {
      const text = await page.locator(".failed").innerText();
      assert.match(text, /bad\.pickle was not read: \S/);
      await page.keyboard.press("2");
      await settled(page);
      assert.match(await page.locator(".failed").innerText(), /bad\.pickle/);
      await page.getByRole("button", { name: /not read/ }).click();
      assert.equal(await page.locator(".failed").innerText(), "");
    }));

  it("have one scale, and show the server's figures at the cursor", () =>
    use(here.browser, at("#lanes?at=900"), async (page) => {
      await settled(page);
      const now = await stats(page);
      assert.equal(now.lanes.length, count);
      assertSameScale(now);
      assert.ok(now.quads > 100 && now.quads <= 50_000, `${now.quads} quads`);
      await assertFigures(page, "axis=step&x=900");
      await page.keyboard.press("v");
      await waitForParam(page, "own", (own) => own === "1");
      await settled(page);
      const scales = (await stats(page)).lanes.map((lane) => Math.round(lane.bytesPerPixel));
      assert.ok(new Set(scales).size > 1, scales.join(" "));
    }));

  it("compare every lane with the median or the first, and sort by it", () =>
    use(here.browser, at("#lanes?at=900&rank=difference&against=first"), async (page) => {
      await settled(page);
      const list = await rows(page);
      const bytes = new Map();
      for (const { key } of list) {
        const [file, device] = key.split("/");
        const { totals } = await ask(page, `at?file=${file}&device=${device}&axis=step&x=900`);
        bytes.set(key, totals.active_bytes);
      }
      const first = bytes.get([...bytes.keys()].find((key) => key.startsWith("0/")));
      const away = list.map(({ key }) => Math.abs(bytes.get(key) - first));
      assert.deepEqual(away, [...away].sort((a, b) => b - a));
      assert.equal(list.find(({ key }) => key.startsWith("0/")).figures[1], "first");
      const { figures, key } = list[0];
      const shown = bytesOf(figures[1]);
      assert.ok(Math.abs(shown.bytes - away[0]) <= shown.within, figures[1]);
      assert.equal(figures[1][0], bytes.get(key) > first ? "+" : "−");
      await page.keyboard.press("b");
      await waitForParam(page, "against", (of) => of === "median");
      await page.waitForFunction(() => /^Median/.test(document.querySelector(".lanefoot").textContent));
      await page.keyboard.press("M");
      await page.keyboard.press("M");
      await waitForParam(page, "rank", (rank) => rank === "peak");
      const { files: all } = await ask(page, "session");
      const peak = ({ key }) => all[Number(key.split("/")[0])].devices[0].peak.reserved.bytes;
      const peaks = (await rows(page)).map(peak);
      assert.deepEqual(peaks, [...peaks].sort((a, b) => b - a));
    }));

  it("share one window, that a link carries", () =>
    use(here.browser, at("#lanes?at=900"), async (page) => {
      await settled(page);
      const box = await page.locator("#lanes").boundingBox();
      await page.mouse.move(box.x + box.width / 2, box.y + 200);
      await page.mouse.wheel(0, -500);
      await waitForParam(page, "x", Boolean);
      await page.keyboard.press("W");
      await waitForParam(page, "y", Boolean);
      const before = await steady(page);
      assertSameScale(before);
      const [x, y] = ["x", "y"].map((name) => hashOf(page).params.get(name));
      await page.reload();
      // not once it is quiet: a busy machine is quiet before the last tile was asked for
      await page
        .waitForFunction(
          (wanted) => {
            const { lanes, quads, waiting } = window.tidegaugeStats ?? {};
            const got = { lanes: lanes?.map((lane) => [lane.key, Math.round(lane.bytesPerPixel)]), quads };
            return waiting === 0 && JSON.stringify(got) === wanted;
          },
          JSON.stringify(pictureOf(before)),
        )
        .catch(() => {});
      assert.deepEqual(pictureOf(await stats(page)), pictureOf(before));
      assert.equal(hashOf(page).params.get("x"), x);
      assert.equal(hashOf(page).params.get("y"), y);
      await page.keyboard.press("f");
      await waitForParam(page, "x", (now) => now === null);
      await waitForParam(page, "y", (now) => now === null);
    }));

  it("select the block that was clicked, in its own file", () =>
    use(here.browser, at("#lanes?at=900"), async (page) => {
      await settled(page);
      const box = await page.locator("#lanes").boundingBox();
      const lane = (await stats(page)).lanes[2];
      // low in the stack, where blocks live long
      await page.mouse.click(box.x + box.width * 0.4, box.y + lane.bottom - 8);
      const id = await waitForParam(page, "sel", Boolean);
      const { params } = hashOf(page);
      assert.equal(params.get("file"), lane.key.split("/")[0]);
      const block = await ask(page, `allocation?file=${params.get("file")}&id=${id}`);
      await page.waitForFunction(
        (name) => document.querySelector(".ins")?.textContent.includes(name),
        block.address_id,
      );
      const step = Number(params.get("at"));
      assert.ok(block.first_step <= step && step <= block.last_step, `${step} is in its life`);
      await page.keyboard.press("Escape");
      await waitForParam(page, "sel", (now) => now === null);
    }));

  it("open one alone with a double click; window and cursor stay", () =>
    use(here.browser, at("#lanes?at=900&x=400,1200"), async (page) => {
      await settled(page);
      const box = await page.locator("#lane-list").boundingBox();
      const lane = (await stats(page)).lanes[1];
      await page.mouse.dblclick(box.x + 60, box.y + (lane.top + lane.bottom) / 2);
      await page.waitForSelector("#timeline");
      await settled(page);
      const { params } = hashOf(page);
      assert.equal(params.get("file"), lane.key.split("/")[0]);
      assert.equal(params.get("x"), "400,1200");
      assert.equal(params.get("at"), "900");
      assert.equal(await page.locator(".linknotes li").count(), 0);
    }));

  it("open nothing with a double click where no lane is", () =>
    use(here.browser, at("#lanes?at=900"), async (page) => {
      await settled(page);
      const box = await page.locator("#lanes").boundingBox();
      const lane = (await stats(page)).lanes[0];
      await page.mouse.click(box.x + box.width * 0.4, box.y + lane.bottom - 8);
      await waitForParam(page, "sel", Boolean);
      await page.mouse.dblclick(box.x + box.width * 0.6, box.y + box.height - 8);
      await settled(page);
      assert.equal(hashOf(page).view, "lanes");
    }));

  it("take a phase for the range with a click, and stay with a double one", () =>
    use(
      here.browser,
      at("#lanes?at=900"),
      async (page) => {
        await settled(page);
        const box = await page.locator("#lanes").boundingBox();
        const lane = (await stats(page)).lanes[0];
        const [file, device] = lane.key.split("/");
        const bands = (await ask(page, `annotations?file=${file}&device=${device}`)).rows;
        const band = bands.find((one) => one.depth === 0 && one.end_step - one.begin_step > 40);
        assert.ok(band, "a phase that is wide enough");
        const { devices } = (await ask(page, "session")).files.reduce((a, b) =>
          b.devices[0].events > a.devices[0].events ? b : a,
        );
        const middle = (band.begin_step + band.end_step) / 2 / (devices[0].events * 1.036);
        const gutter = 62;
        await page.mouse.dblclick(box.x + gutter + (box.width - gutter) * middle, box.y + lane.top - 13);
        const range = (await waitForParam(page, "x", Boolean)).split(",").map(Number);
        assert.ok(Math.abs(range[0] - band.begin_step) <= 1, `${range} is the phase from ${band.begin_step}`);
        await settled(page);
        assert.equal(hashOf(page).view, "lanes");
      },
      { viewport: { width: 1440, height: 1200 } },
    ));

  it("work by keyboard alone", () =>
    use(here.browser, here.address, async (page) => {
      await page.keyboard.press(await keyOf(page, "Side by side"));
      await settled(page);
      const selected = async () => (await rows(page)).find((row) => row.selected)?.key;
      const first = await selected();
      await page.keyboard.press("]");
      const step = await waitForParam(page, "at", Boolean);
      await page.keyboard.press("ArrowDown");
      await waitForParam(page, "file", (file) => file === "1");
      assert.notEqual(await selected(), first);
      assert.equal(hashOf(page).params.get("at"), step, "the cursor stays where it is");
      await page.keyboard.press("End");
      await waitForParam(page, "file", (file) => file === String(count - 1));
      await page.keyboard.press("Home");
      await waitForParam(page, "file", (file) => file === null);
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Shift+ArrowUp");
      const block = await waitForParam(page, "sel", Boolean);
      await page.keyboard.press("Shift+ArrowUp");
      await waitForParam(page, "sel", (sel) => sel !== null && sel !== block);
      await page.keyboard.press("w");
      const x = await waitForParam(page, "x", Boolean);
      await page.keyboard.press("Enter");
      await page.waitForSelector("#timeline");
      await settled(page);
      assert.equal(hashOf(page).params.get("file"), "1");
      assert.equal(hashOf(page).params.get("x"), x);
      await page.goBack();
      await page.waitForSelector("#lanes");
      // the list of names is reached with Tab and says which lane is the current one
      await page.locator("#lane-list").focus();
      const active = await page.locator("#lane-list").getAttribute("aria-activedescendant");
      assert.equal(active, `lane-${await selected()}`);
    }));

  it("stand on an axis of time as well, at the same times", () =>
    use(here.browser, at("#lanes?axis=time&at=900"), async (page) => {
      await settled(page);
      const state = await ask(page, "at?file=0&axis=step&x=900");
      await assertFigures(page, `axis=time&x=${state.time_us}`);
      assert.equal(await page.getByRole("button", { name: "Clock" }).getAttribute("aria-pressed"), "true");
      await page.keyboard.press("ArrowDown");
      await waitForParam(page, "t", (t) => Number(t) === state.time_us);
      await assertFigures(page, `axis=time&x=${state.time_us}`);
    }));

  it("take filters and searches along, and find room for them in the head", () =>
    use(here.browser, at("#lanes?at=900&filter=size:>4MiB&q=forward&mark=search"), async (page) => {
      await page.waitForSelector(".markchip");
      await settled(page);
      await assertHeadFits(page);
      const flags = await page.evaluate(async () => {
        const url = performance.getEntriesByType("resource").map(({ name }) => name);
        return [...new Set(url.filter((name) => /api\/tile/.test(name)).map((name) => /[?&]filter=/.test(name)))];
      });
      assert.ok(flags.includes(true), "tiles are asked for with the filter");
      await page.setViewportSize({ width: 1024, height: 700 });
      await settled(page);
      await assertHeadFits(page);
    }));

  it("mark the lane that ran out of memory", () =>
    use(here.browser, at("#lanes"), async (page) => {
      await settled(page);
      const list = await rows(page);
      const marked = list.filter((row) => row.name.includes("OOM")).map((row) => row.key);
      assert.deepEqual(marked, [`${OOM_RANK}/0`]);
    }));

  it("are drawn without WebGL", () =>
    use(here.browser, `${here.address}?gl=0#lanes`, async (page) => {
      await settled(page);
      assert.match(await page.locator(".status").innerText(), /Canvas, no WebGL/);
      const colours = await page.evaluate(() => {
        const canvas = document.querySelector("canvas.blocks");
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        const seen = new Set();
        for (let i = 0; i < data.length; i += 4 * 97) seen.add(data.slice(i, i + 4).join());
        return seen.size;
      });
      assert.ok(colours > 4, `${colours} colours`);
    }));

  for (const colorScheme of ["dark", "light"]) {
    it(`please axe: ${colorScheme}`, () =>
      use(
        here.browser,
        at("#lanes?at=900&axis=time"),
        async (page) => {
          await settled(page);
          await rows(page);
          assert.deepEqual(await axeComplaints(page), []);
          await page.setViewportSize({ width: 1024, height: 700 });
          await settled(page);
          assert.deepEqual(await axeComplaints(page), []);
          await assertHeadFits(page);
        },
        { colorScheme },
      ));
  }
});

describe("64 recordings side by side", { skip, timeout: 600_000 }, () => {
  const here = opened(() => Array.from({ length: 64 }, () => example("oom.pickle.zst")));

  it("ask only for what is in sight", () =>
    use(here.browser, here.at("#lanes"), async (page) => {
      const asked = new Set();
      page.on("request", (request) => {
        const found = /api\/tile\?file=(\d+)/.exec(request.url());
        if (found) asked.add(Number(found[1]));
      });
      await page.reload();
      await settled(page);
      const { lanes, quads } = await stats(page);
      assert.ok(lanes.length < 14, `${lanes.length} lanes in sight`);
      assert.ok(quads <= 50_000, `${quads} quads`);
      assert.ok(asked.size <= lanes.length, [...asked].join(" "));
      assert.ok((await page.locator("#lane-list .lane").count()) < 16);
      assert.equal(await page.locator("#lane-list .lane").first().getAttribute("aria-setsize"), "64");
      const last = page.waitForRequest(/api\/tile\?file=63&/);
      await page.keyboard.press("End");
      await last;
      await page.waitForFunction(() => window.tidegaugeStats.lanes.some(({ key }) => key === "63/0"));
      await settled(page);
      assert.ok(!asked.has(30), "what was passed over was not asked for");
    }));
});

describe("runs that lie apart", { skip, timeout: 600_000 }, () => {
  let files;
  const here = opened(() => {
    files = writeLaneFiles();
    return files.runs;
  });
  after(() => files?.remove());

  it("begin together, unless the clock is asked for", () =>
    use(here.browser, here.at("#lanes?axis=time"), async (page) => {
      await settled(page);
      const pressed = (name) => page.getByRole("button", { name }).getAttribute("aria-pressed");
      assert.equal(await pressed("First event"), "true");
      // the end of the first: 6,000 µs after its begin; the second's own time is that after its begin
      await page.keyboard.press("Home");
      await page.evaluate(() => {
        location.hash = "#lanes?axis=time&at=6";
      });
      await page.waitForFunction(() => document.querySelectorAll("#lane-list dl").length === 2);
      const expected = await ask(page, `at?file=1&axis=time&x=${1e15 + 3e11 + 6000}`);
      const shown = bytesOf((await rows(page))[1].figures[0]);
      assert.ok(Math.abs(shown.bytes - expected.totals.active_bytes) <= shown.within);
      await page.keyboard.press("l");
      await waitForParam(page, "align", (align) => align === "clock");
      // 300,000 s apart: the other one has nothing at this time
      await page.waitForFunction(() => /nothing recorded here/.test(document.querySelector("#lane-list").textContent));
    }));
});

describe("one recording", { skip, timeout: 600_000 }, () => {
  const here = opened(() => [example("oom.pickle.zst")]);

  it("has nothing to stand beside", () =>
    use(here.browser, here.at("#lanes"), async (page) => {
      await page.waitForSelector("#timeline");
      assert.match(await page.locator(".linknotes").innerText(), /only one is open/);
      assert.equal(await page.locator(".rail a[title='Side by side']").count(), 0);
      assert.equal(await page.locator(".topbar [title^='Side by side']").count(), 0);
    }));
});

describe("real ranks side by side", { skip: skip || withoutFile(SHARED_RANKS[0]), timeout: 600_000 }, () => {
  const here = opened(() => SHARED_RANKS);

  it("show two ranks that ran out of memory, by step and by the clock", () =>
    use(here.browser, here.at("#lanes?at=2000"), async (page) => {
      await settled(page);
      assertSameScale(await stats(page));
      await assertFigures(page, "axis=step&x=2000");
      await page.keyboard.press("x");
      await waitForParam(page, "axis", (axis) => axis === "time");
      await settled(page);
      const { time_us } = await ask(page, "at?file=0&axis=step&x=2000");
      await page.waitForFunction(() => /−/.test(document.querySelector("#lane-list").textContent));
      await assertFigures(page, `axis=time&x=${time_us}`);
      assert.deepEqual(await axeComplaints(page), []);
    }));
});

describe("devices of one file side by side", { skip: skip || withoutFile(THREE_GPUS), timeout: 600_000 }, () => {
  const here = opened(() => [THREE_GPUS]);

  it("go by the names of the devices", () =>
    use(here.browser, here.at("#lanes?at=400"), async (page) => {
      await settled(page);
      const list = await rows(page);
      assert.deepEqual(list.map((row) => row.name.replace("OOM", "")), ["cuda:0", "cuda:1", "cuda:2"]);
      assertSameScale(await stats(page));
      await assertFigures(page, "axis=step&x=400");
      await page.keyboard.press("End");
      await waitForParam(page, "dev", (dev) => dev === "2");
    }));
});
