// The page as people use it: real program, real files, real browser.
// Run by `npm run test:browser` in web/; see harness.mjs for what it needs.
import {
  assert, axeComplaints, describe, example, expectRefusals, FSDP, hashOf, it, keyOf, NO_TRACE,
  opened, quiet, settled, startBrowser, startServer, use, waitForParam, whyNot, withoutFile,
} from "./harness.mjs";

const skip = whyNot();

async function centre(page, selector) {
  const box = await page.locator(selector).boundingBox();
  return { x: box.x + box.width / 2, y: box.y + box.height / 2, box };
}

/** A point that lies on a block: halfway up the stack at a share of the picture's width. */
async function onStack(page, share = 0.6) {
  const { box } = await centre(page, "#timeline");
  return { x: box.x + 62 + (box.width - 62) * share, y: box.y + box.height - 24 - 40 };
}

/** The editor takes the focus when it is there, and with it all keys but this one. */
async function leaveEditor(page) {
  const isTyping = () => document.activeElement.matches(".shadowhost");
  await page.waitForFunction(isTyping);
  await page.keyboard.press("Escape");
  assert.equal(await page.evaluate(isTyping), false);
}

/** Whether the block in the URL is live at the step in the URL; null: no block. */
async function selectedIsLive(page) {
  await quiet(page);
  const { params } = hashOf(page);
  if (params.get("sel") === null || params.get("at") === null) return null;
  return page.evaluate(
    async ([id, step]) => {
      const query = new URLSearchParams({ file: 0, id, axis: "step", x0: step, x1: Number(step) + 1, columns: 1 });
      const view = new DataView(await (await fetch(`api/shape?${query}`)).arrayBuffer());
      return !Number.isNaN(view.getFloat32(32, true));
    },
    [params.get("sel"), params.get("at")],
  );
}

describe("the page", { skip, timeout: 600_000 }, () => {
  const here = opened(() => [
      example("oom.pickle.zst"),
      example("two_gpus.pickle.zst"),
      example("annotated.pickle.zst"),
      example("fragmented.pickle.zst"),
    ]);
  const { at } = here;

  it("opens with a headline, the lines, the holders and identities that hold", () =>
    use(here.browser, here.address, async (page) => {
      assert.match(await page.locator("h1.headline").innerText(), /\d/);
      assert.ok((await page.locator(".story li").count()) > 0);
      assert.ok((await page.locator(".card").count()) >= 1);
      const status = await page.locator(".status").innerText();
      assert.match(status, /Active .* = allocated in the recording/);
      assert.match(await page.title(), /Overview · .*oom/);
    }));

  it("loads at most 110 kB of script and style for the first picture, and views when they open", () =>
    use(here.browser, here.address, async (page) => {
      const loaded = () =>
        page.evaluate(() =>
          performance
            .getEntriesByType("resource")
            .filter(({ name }) => /\.(js|css)$/.test(name))
            .map(({ name, encodedBodySize }) => ({ name, bytes: encodedBodySize })),
        );
      await page.waitForSelector("h1.headline");
      await quiet(page);
      const first = await loaded();
      const bytes = first.reduce((sum, one) => sum + one.bytes, 0);
      assert.ok(bytes > 50_000 && bytes <= 110_000, `${bytes} bytes`);
      await page.keyboard.press(await keyOf(page, "Map"));
      await page.waitForSelector("main canvas");
      const added = (await loaded()).slice(first.length);
      assert.ok(added.some(({ name }) => name.includes("map_view")), JSON.stringify(added));
    }));

  it("says when the script of a view does not arrive, and loads it at the second try", () =>
    use(here.browser, here.address, async (page) => {
      await page.waitForSelector("h1.headline");
      await page.route(/map_view/, (route) => route.abort());
      await page.keyboard.press(await keyOf(page, "Map"));
      await page.locator("main button", { hasText: "again" }).waitFor();
      await page.unroute(/map_view/);
      await page.locator("main button", { hasText: "again" }).click();
      await page.waitForSelector("main canvas");
      page.complaints = page.complaints.filter((text) => !/ERR_FAILED/.test(text));
    }));

  it("shows how far reading is and a rough curve, until the file is open", () =>
    use(here.browser, here.address, async (page) => {
      let release;
      const held = new Promise((resolve) => {
        release = resolve;
      });
      const progress = {
        open: false, name: "runs/big.pickle", file: 1, files: 1, done_bytes: 2 ** 29, total_bytes: 2 ** 30,
        events: 4_500_000, steps_per_point: 8192, at_least_bytes: [2 ** 30, 3 * 2 ** 30, 2 ** 31],
      };
      await page.route("**/api/session", async (route) => {
        await held;
        await route.continue();
      });
      await page.route("**/api/opening", (route) => route.fulfill({ json: progress }));
      await page.reload();
      await page.getByText("Reading big.pickle: 0.50 of 1.00 GiB, 4,500,000 events").waitFor();
      await page.getByText("at least 3.00 GiB at the highest point so far").waitFor();
      const { box } = await centre(page, ".opening svg");
      const curve = await page.locator(".opening path").boundingBox();
      assert.ok(Math.abs(curve.width / box.width - 0.5) < 0.02, `${curve.width} of ${box.width}`);
      assert.deepEqual(await axeComplaints(page), []);
      progress.done_bytes = progress.total_bytes;
      await page.getByText("Joining 4,500,000 events of big.pickle into blocks").waitFor();
      release();
      await page.waitForSelector("h1.headline");
      assert.equal(await page.locator(".opening").count(), 0);
    }));

  it("draws the timeline within its budget of quads", () =>
    use(here.browser, at("#timeline"), async (page) => {
      await settled(page);
      const stats = await page.evaluate(() => ({ ...window.tidegaugeStats }));
      assert.ok(stats.quads > 10, `${stats.quads} quads`);
      assert.ok(stats.quads <= 50_000, `${stats.quads} quads`);
      assert.ok((await page.locator(".legendbar .lg").count()) > 1);
    }));

  it("zooms at the pointer and pans by dragging; the URL follows", () =>
    use(here.browser, at("#timeline"), async (page) => {
      await settled(page);
      const { x, y } = await onStack(page, 0.5);
      await page.mouse.move(x, y);
      await page.mouse.wheel(0, -400);
      const zoomed = (await waitForParam(page, "x", Boolean)).split(",").map(Number);
      assert.ok(zoomed[1] > zoomed[0]);
      await settled(page);
      await page.mouse.down();
      await page.mouse.move(x - 120, y, { steps: 6 });
      await page.mouse.up();
      const panned = (await waitForParam(page, "x", (now) => now !== zoomed.join(","))).split(",").map(Number);
      assert.ok(panned[0] > zoomed[0], "dragging left shows what comes later");
      const [before, after] = [zoomed[1] - zoomed[0], panned[1] - panned[0]];
      assert.ok(Math.abs(before - after) < before * 1e-3, "a drag does not zoom");
      assert.equal(hashOf(page).params.get("sel"), null, "a drag is not a click");
      await page.keyboard.press("f");
      await waitForParam(page, "x", (now) => now === null);
    }));

  it("asks for nothing while a pan stays inside what is there", () =>
    use(here.browser, at("#timeline"), async (page) => {
      await settled(page);
      const { x, y } = await onStack(page, 0.5);
      await page.mouse.move(x, y);
      await page.mouse.wheel(0, -300);
      await settled(page);
      await quiet(page); // neighbours are fetched ahead
      const asked = [];
      page.on("request", (request) => /api\/(tile|lines)/.test(request.url()) && asked.push(request.url()));
      await page.mouse.down();
      await page.mouse.move(x + 4, y, { steps: 4 });
      await page.mouse.move(x - 4, y, { steps: 4 });
      await page.mouse.up();
      assert.deepEqual(asked, []);
    }));

  it("shows what is under the pointer, and selects it with a click", () =>
    use(here.browser, at("#timeline"), async (page) => {
      await settled(page);
      const { x, y } = await onStack(page);
      await page.mouse.move(x, y);
      await page.waitForSelector(".tip.on");
      assert.match(await page.locator(".tip").innerText(), /Life[\s\S]*Step[\s\S]*Live after the step/);
      await page.mouse.click(x, y);
      const id = await waitForParam(page, "sel", Boolean);
      await page.waitForSelector(".ins .big");
      const text = await page.locator(".side").innerText();
      assert.match(text, /b[0-9a-f]+_\d+/);
      assert.match(text, /Requested/);
      assert.match(text, /Same stack|No stack was recorded/);
      const answer = await page.evaluate(
        async (sel) => (await fetch(`api/allocation?file=0&id=${sel}`)).json(),
        id,
      );
      assert.ok(text.includes(answer.address_id), "the inspector shows the block that was clicked");
      await page.keyboard.press("Escape");
      await waitForParam(page, "sel", (now) => now === null);
    }));

  it("picks the block that the server reports at the pointer", () =>
    use(here.browser, at("#timeline"), async (page) => {
      await settled(page);
      const { box } = await centre(page, "#timeline");
      let compared = 0;
      for (const [share, up] of [[0.3, 15], [0.5, 40], [0.7, 80], [0.85, 25], [0.6, 60]]) {
        const point = {
          x: box.x + 62 + (box.width - 62) * share,
          y: box.y + box.height - 24 - up,
        };
        const request = page
          .waitForRequest(/api\/(allocation|pick)\?/, { timeout: 1500 })
          .catch(() => null);
        await page.mouse.click(point.x, point.y);
        if ((await request) === null) continue;
        const live = await selectedIsLive(page);
        if (live === null) continue;
        assert.ok(live, "the selected block is live at the step that was clicked");
        compared += 1;
      }
      assert.ok(compared >= 2, `${compared} blocks compared`);
    }));

  it("walks from event to event and block to block by keyboard alone", () =>
    use(here.browser, at("#overview"), async (page) => {
      await page.keyboard.press("2");
      await settled(page);
      assert.equal(hashOf(page).view, "timeline");
      await page.keyboard.press("]");
      const first = Number(await waitForParam(page, "at", Boolean));
      await page.keyboard.press("[");
      await waitForParam(page, "at", (now) => Number(now) === first - 1);
      await page.keyboard.press("ArrowUp");
      const lowest = await waitForParam(page, "sel", Boolean);
      await page.keyboard.press("ArrowUp");
      await waitForParam(page, "sel", (now) => now !== null && now !== lowest);
      await page.keyboard.press("w");
      await waitForParam(page, "x", Boolean);
      await page.keyboard.press("d");
      await page.keyboard.press("?");
      await page.waitForSelector("dialog[open]");
      await page.keyboard.press("Escape");
      await page.waitForSelector("dialog[open]", { state: "detached" });
      await page.keyboard.press("/");
      assert.equal(await page.evaluate(() => document.activeElement.id), "search");
      await page.keyboard.press("Escape");
      await page.keyboard.press(await keyOf(page, "SQL"));
      await page.waitForSelector(".sqlwrap");
    }));

  it("opens every view with a key of its own", () =>
    use(here.browser, at("#timeline"), async (page) => {
      await settled(page);
      const links = page.locator(".rail a");
      const keys = await links.evaluateAll((all) => all.map((one) => one.ariaKeyShortcuts));
      assert.equal(new Set(keys).size, keys.length);
      for (const [i, key] of keys.entries()) {
        await page.keyboard.press(key);
        await page.waitForFunction(
          (at) => document.querySelectorAll(".rail a")[at].getAttribute("aria-current") === "page",
          i,
        );
        if (hashOf(page).view === "sql") await leaveEditor(page);
      }
    }));

  it("reaches everything with Tab, and shows where the focus is", () =>
    use(here.browser, at("#timeline"), async (page) => {
      await settled(page);
      const seen = [];
      for (let i = 0; i < 60; i += 1) {
        await page.keyboard.press("Tab");
        const focus = await page.evaluate(() => {
          const el = document.activeElement;
          if (el === document.body) return { name: "", ring: true };
          const style = getComputedStyle(el);
          const search = el.closest(".search");
          const ring = style.boxShadow !== "none" || style.outlineStyle !== "none" || search !== null;
          return { name: el.id || el.getAttribute("aria-label") || el.textContent.trim(), ring };
        });
        if (focus.name === "") break; // past the end
        assert.ok(focus.ring, `no focus ring on “${focus.name}”`);
        seen.push(focus.name);
      }
      for (const name of ["search", "timeline", "inspector-toggle"]) {
        assert.ok(seen.includes(name), `${name} is not reached by Tab: ${seen.join(" | ")}`);
      }
    }));

  it("searches: lists, counts, jumps, keeps only the hits", () =>
    use(here.browser, at("#timeline"), async (page) => {
      await settled(page);
      await page.keyboard.press("/");
      await page.keyboard.type("forward");
      await page.waitForSelector(".hits [role=option]");
      const heading = await page.locator(".hits .hh").innerText();
      const count = Number(/([\d,]+) allocation/.exec(heading)[1].replaceAll(",", ""));
      assert.ok(count > 0);
      const answer = await page.evaluate(async () =>
        (await fetch("api/search?file=0&device=0&q=forward&limit=50")).json(),
      );
      assert.equal(count, answer.count);
      await page.keyboard.press("Enter");
      const first = await waitForParam(page, "sel", Boolean);
      assert.equal(Number(first), answer.stacks[0].first_id);
      await page.waitForSelector(".markchip");
      await page.keyboard.press("n");
      await page.waitForFunction(() => /1 of/.test(document.querySelector(".markchip")?.textContent ?? ""));
      if (count > 1) {
        await page.keyboard.press("n");
        await page.waitForFunction(() => /2 of/.test(document.querySelector(".markchip")?.textContent ?? ""));
      }
      await page.keyboard.press("o");
      await waitForParam(page, "only", (now) => now === "1");
      await page.keyboard.press("Escape");
      await page.keyboard.press("Escape");
      await waitForParam(page, "mark", (now) => now === null);
    }));

  it("says so when nothing matches", () =>
    use(here.browser, at("#timeline"), async (page) => {
      await page.keyboard.press("/");
      await page.keyboard.type("nothing-is-called-this");
      await page.waitForFunction(() => /No allocation matches/.test(document.querySelector(".hits")?.textContent ?? ""));
    }));

  it("runs SQL and marks the rows in the timeline", () =>
    use(here.browser, at("#sql"), async (page) => {
      await page.waitForSelector(".cm-content");
      assert.ok((await page.locator(".schema .question").count()) >= 10, "worked questions");
      await page.locator(".cm-content").click();
      await page.keyboard.press("Control+A");
      await page.keyboard.type("SELECT id, block_bytes, first_step FROM allocations ORDER BY block_bytes DESC LIMIT 7");
      await page.keyboard.press("Control+Enter");
      await page.waitForFunction(() => /^7 rows/.test(document.querySelector(".strip")?.textContent ?? ""));
      assert.equal(await page.locator(".results tbody tr[aria-rowindex]").count(), 7);
      await page.getByRole("button", { name: "Show in timeline" }).click();
      await page.waitForSelector(".markchip");
      await settled(page);
      assert.match(await page.locator(".markchip").innerText(), /7 allocations/);
      const marked = await page.evaluate(async () => {
        const tiles = performance.getEntriesByType("resource").filter((one) => /api\/tile.*mark=/.test(one.name));
        const bytes = await (await fetch(tiles.at(-1).name)).arrayBuffer();
        const view = new DataView(bytes);
        const ids = new Set();
        for (let i = 0; i < view.getUint32(8, true); i += 1) {
          if ((view.getUint8(64 + i * 32 + 21) & 1) !== 0) ids.add(view.getUint32(64 + i * 32 + 12, true));
        }
        return ids.size;
      });
      assert.ok(marked >= 1 && marked <= 7, `${marked} marked blocks in a tile`);
    }));

  it("explains a query that cannot run", () =>
    use(here.browser, at("#sql"), async (page) => {
      await page.waitForSelector(".cm-content");
      await page.locator(".cm-content").click();
      await page.keyboard.press("Control+A");
      expectRefusals(page);
      await page.keyboard.type("SELECT nonsense FROM allocations");
      await page.keyboard.press("Control+Enter");
      await page.waitForSelector(".sqlmain .note-box");
      assert.match(await page.locator(".sqlmain .note-box").innerText(), /nonsense/);
    }));

  it("comes back from its URL as it was", () =>
    use(here.browser, at("#timeline"), async (page) => {
      await settled(page);
      const { x, y } = await onStack(page);
      await page.mouse.move(x, y);
      await page.mouse.wheel(0, -500);
      await waitForParam(page, "x", Boolean);
      await settled(page);
      await page.mouse.click(x, y);
      await waitForParam(page, "sel", Boolean);
      await page.keyboard.press("g");
      await waitForParam(page, "colour", Boolean);
      await page.waitForSelector(".ins .id.mono");
      await settled(page);
      const before = { url: page.url(), id: await page.locator(".ins .id.mono").innerText() };
      await page.reload();
      await settled(page);
      await page.waitForSelector(".ins .id.mono");
      assert.equal(page.url(), before.url);
      assert.equal(await page.locator(".ins .id.mono").innerText(), before.id);
    }));

  it("restores a search and a query from a link", () =>
    use(here.browser, at("#timeline?q=forward&mark=search"), async (page) => {
      await page.waitForSelector(".markchip");
      assert.equal(await page.locator("#search").inputValue(), "forward");
      const sql = encodeURIComponent("SELECT id FROM allocations LIMIT 3");
      await page.goto(at(`#timeline?sql=${sql}&mark=sql`));
      await page.reload();
      await page.waitForFunction(() => /3 allocations/.test(document.querySelector(".markchip")?.textContent ?? ""));
    }));

  it("takes what it understands of a mangled URL", () =>
    use(here.browser, at("#nowhere?file=99&dev=7&x=9,1&sel=123456789&axis=up&colour=plaid&%%%"), async (page) => {
      expectRefusals(page);
      await page.waitForSelector("h1");
      await page.goto(at("#timeline?x=1e300,2e300&at=99999999&y=-5,-1"));
      await settled(page);
      assert.equal(await page.locator(".overlay").count(), 0);
    }));

  it("switches files and devices, and comes back with the browser's Back", () =>
    use(here.browser, at("#overview"), async (page) => {
      await page.locator("button.file").click();
      await page.getByRole("option", { name: /two_gpus/ }).click();
      await waitForParam(page, "file", (now) => now === "1");
      await page.waitForFunction(() => document.querySelectorAll(".devchip").length === 2);
      await page.locator(".devchip").nth(1).click();
      await waitForParam(page, "dev", Boolean);
      await page.goBack();
      await page.goBack();
      await waitForParam(page, "file", (now) => now === null);
      assert.match(await page.locator(".file").first().innerText(), /oom/);
    }));

  it("changes to time and back without losing the place", () =>
    use(here.browser, at("#timeline?file=3"), async (page) => {
      await settled(page);
      await page.mouse.move(...Object.values(await onStack(page, 0.5)).slice(0, 2));
      await page.mouse.wheel(0, -600);
      const steps = (await waitForParam(page, "x", Boolean)).split(",").map(Number);
      await page.getByRole("button", { name: "Time", exact: true }).click();
      await waitForParam(page, "axis", (now) => now === "time");
      await settled(page);
      await page.getByRole("button", { name: "Step", exact: true }).click();
      await waitForParam(page, "axis", (now) => now === null);
      const back = (await waitForParam(page, "x", Boolean)).split(",").map(Number);
      const span = steps[1] - steps[0];
      assert.ok(Math.abs(back[0] - steps[0]) < span * 0.1 + 5, `${steps} became ${back}`);
    }));

  it("filters with the legend without moving a shape", () =>
    use(here.browser, at("#timeline"), async (page) => {
      await settled(page);
      const before = await page.evaluate(() => window.tidegaugeStats.quads);
      const entry = page.locator(".legendbar .lg").first();
      await entry.click();
      assert.equal(await entry.getAttribute("aria-pressed"), "false");
      await settled(page);
      assert.equal(await page.evaluate(() => window.tidegaugeStats.quads), before);
      await page.getByRole("button", { name: "Show all" }).click();
      assert.equal(await entry.getAttribute("aria-pressed"), "true");
    }));

  it("draws the same without WebGL", () =>
    use(here.browser, at("?gl=0#timeline"), async (page) => {
      await settled(page);
      assert.match(await page.locator(".status").innerText(), /no WebGL/);
      const share = await page.evaluate(() => {
        const canvas = document.querySelector("canvas.blocks");
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        let drawn = 0;
        for (let i = 3; i < data.length; i += 4) drawn += data[i] === 0 ? 0 : 1;
        return drawn / (data.length / 4);
      });
      assert.ok(share > 0.05, `${share} of the picture is drawn`);
      const { x, y } = await onStack(page);
      await page.mouse.click(x, y);
      await waitForParam(page, "sel", Boolean);
    }));

  it("remembers the theme", () =>
    use(here.browser, at("#overview"), async (page) => {
      const first = await page.evaluate(() => document.documentElement.dataset.theme);
      await page.keyboard.press("t");
      await page.reload();
      await page.waitForSelector("h1");
      assert.notEqual(await page.evaluate(() => document.documentElement.dataset.theme), first);
    }));

  for (const colorScheme of ["light", "dark"]) {
    for (const view of ["overview", "timeline?sel=1", "timeline?q=forward&mark=search", "sql?sql=SELECT%20id%20FROM%20allocations%20LIMIT%205"]) {
      it(`has nothing for axe to complain about: ${view}, ${colorScheme}`, () =>
        use(
          here.browser,
          at(`#${view}`),
          async (page) => {
            await page.waitForSelector("h1");
            if (view.startsWith("timeline")) await settled(page);
            if (view.startsWith("sql")) await page.waitForSelector(".cm-content");
            await quiet(page);
            assert.deepEqual(await axeComplaints(page), []);
          },
          { colorScheme },
        ));
    }
  }
});

describe("real snapshots", { skip, timeout: 300_000 }, () => {
  it("an FSDP run that ran out of memory", { skip: withoutFile(FSDP) }, async () => {
    const server = await startServer([FSDP]);
    const browser = await startBrowser();
    try {
      await use(browser, server.address, async (page) => {
        assert.match(await page.locator("h1.headline").innerText(), /4,008 MiB/);
        assert.match(await page.locator(".eyebrow").innerText(), /Out of memory/);
        await page.waitForSelector(".shortage canvas");
        await page.getByRole("link", { name: "Open timeline" }).click();
        await settled(page);
        assert.ok((await page.evaluate(() => window.tidegaugeStats.quads)) > 100);
      });
    } finally {
      await browser.close();
      await server.stop();
    }
  });

  it("a file without a trace says what is missing and how to record it", { skip: withoutFile(NO_TRACE) }, async () => {
    const server = await startServer([NO_TRACE]);
    const browser = await startBrowser();
    try {
      await use(browser, `${server.address}#timeline`, async (page) => {
        await page.waitForSelector(".note-box");
        const text = await page.locator(".note-box").innerText();
        assert.match(text, /no history/);
        assert.match(text, /_record_memory_history/);
      });
    } finally {
      await browser.close();
      await server.stop();
    }
  });

  it("draws without a WebGL that works", { skip: withoutFile(FSDP) }, async () => {
    const server = await startServer([FSDP]);
    const browser = await startBrowser(["--disable-gpu", "--disable-software-rasterizer"]);
    try {
      await use(browser, `${server.address}#timeline`, async (page) => {
        await settled(page);
        assert.match(await page.locator(".status").innerText(), /no WebGL/);
      });
    } finally {
      await browser.close();
      await server.stop();
    }
  });
});
