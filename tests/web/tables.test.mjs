// Tables and filters as people use them: see harness.mjs for what it needs.
import { readFileSync } from "node:fs";
import {
  ask, assert, axeComplaints, describe, example, expectRefusals, hashOf, it, opened, settled, use,
  waitForParam, whyNot,
} from "./harness.mjs";

const skip = whyNot();

async function rowsShown(page) {
  await page.waitForSelector(".grid tbody tr.picks");
  await page.waitForFunction(() => document.querySelector(".grid .skeleton") === null);
}

describe("tables", { skip, timeout: 600_000 }, () => {
  const here = opened(() => [example("annotated.pickle.zst"), example("generated.pickle.zst")]);
  const { at } = here;

  it("show all kinds of rows, by mouse and by key", () =>
    use(here.browser, at("#tables"), async (page) => {
      await rowsShown(page);
      for (const [name, noun] of [
        ["Segments", /segment/],
        ["Stacks", /stack/],
        ["Phases", /phase/],
        ["Streams", /stream/],
        ["Kernels", /kernel/],
        ["Copies", /kinds of copy/],
        ["Tensors", /named tensors/],
        ["Allocations", /allocation/],
      ]) {
        await page.keyboard.press("m");
        await page.waitForSelector(`.viewhead button[aria-pressed=true]:text-is("${name}")`);
        // of recordings only: the page says so
        if (/Kernels|Copies/.test(name)) {
          await page.waitForSelector(`text=A snapshot contains no ${name.toLowerCase()}`);
        } else if (name === "Tensors") await page.waitForSelector("text=has no named tensors");
        else await rowsShown(page);
        assert.match(await page.locator(".viewhead .sub").innerText(), noun);
        assert.deepEqual(await axeComplaints(page), []);
      }
    }));

  it("sort in the engine, both ways, and keep the order in the link", () =>
    use(here.browser, at("#tables"), async (page) => {
      await rowsShown(page);
      await page.getByRole("button", { name: "Life", exact: true }).click();
      assert.equal(await waitForParam(page, "sort", Boolean), "-life_steps");
      await page.getByRole("button", { name: "Life", exact: true }).click();
      assert.equal(await waitForParam(page, "sort", (now) => now === "life_steps"), "life_steps");
      await rowsShown(page);
      const answer = await ask(page, "table?name=allocations&sort=life_steps&order=asc&limit=50");
      const life = answer.columns.findIndex((column) => column.name === "life_steps");
      const values = answer.rows.map((row) => row[life]);
      assert.deepEqual(values, [...values].sort((a, b) => a - b));
      const id = answer.columns.findIndex((column) => column.name === "id");
      const shown = await page.locator(".grid tbody tr.picks").first().locator("td").nth(1).innerText();
      assert.equal(Number(shown), answer.rows[0][id]);
      await page.reload();
      await rowsShown(page);
      assert.equal(await page.locator("th[aria-sort=ascending]").innerText(), "Life");
    }));

  it("hold only the rows on the screen, and reach the last one", () =>
    use(here.browser, at("#tables?file=1"), async (page) => {
      await rowsShown(page);
      const { shown } = await ask(page, "table?file=1&name=allocations&limit=1");
      assert.ok(shown > 400, `${shown} rows`);
      assert.ok((await page.locator(".grid tbody tr.picks").count()) < 100);
      await page.locator(".grid").focus();
      await page.keyboard.press("End");
      await page.waitForSelector(`tr[aria-rowindex="${shown + 1}"][aria-selected=true]`);
      await rowsShown(page);
      await page.keyboard.press("Home");
      await page.waitForSelector('tr[aria-rowindex="2"][aria-selected=true]');
    }));

  it("select what a row is about, and show it in the timeline", () =>
    use(here.browser, at("#tables"), async (page) => {
      await rowsShown(page);
      await page.locator(".grid").focus();
      await page.keyboard.press("ArrowDown");
      const id = await waitForParam(page, "sel", Boolean);
      const answer = await ask(page, `allocation?file=0&id=${id}`);
      await page.keyboard.press("Enter");
      await page.waitForSelector("#timeline");
      await settled(page);
      assert.equal(hashOf(page).params.get("sel"), id);
      assert.equal(Number(hashOf(page).params.get("at")), answer.first_step);
    }));

  it("lead from a stack to its allocations and its flame", () =>
    use(here.browser, at("#tables?table=stacks"), async (page) => {
      await rowsShown(page);
      await page.locator(".grid tbody tr.picks").nth(1).click();
      await page.locator(".strip").getByRole("link", { name: "Its allocations" }).click();
      assert.match(await waitForParam(page, "filter", Boolean), /^stack_id:\d+$/);
      await page.waitForFunction(() => / of /.test(document.querySelector(".viewhead .sub")?.textContent ?? ""));
      const filter = hashOf(page).params.get("filter");
      const { count, total_count } = await ask(page, `filter?file=0&filter=${filter}`);
      await page.waitForFunction(
        (text) => document.querySelector(".viewhead .sub")?.textContent.startsWith(text),
        `${count.toLocaleString("en-US")} of ${total_count.toLocaleString("en-US")}`,
      );
    }));

  it("take a phase as a range", () =>
    use(here.browser, at("#tables?table=phases"), async (page) => {
      await rowsShown(page);
      await page.locator(".grid tbody tr.picks").nth(0).click();
      await page.locator(".strip").getByRole("link", { name: "Timeline" }).click();
      await page.waitForSelector("#timeline");
      assert.match(await waitForParam(page, "x", Boolean), /^\d+,\d+$/);
    }));

  it("are saved as CSV, filtered and sorted", () =>
    use(here.browser, at("#tables?filter=size:>=1MiB&sort=block_bytes"), async (page) => {
      await rowsShown(page);
      await page.waitForFunction(() => document.querySelector("a[download]").href.includes("filter="));
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("link", { name: "CSV" }).click(),
      ]);
      const lines = readFileSync(await download.path(), "utf8").trim().split("\n");
      const column = lines[0].split(",").indexOf("block_bytes");
      const bytes = lines.slice(1).map((line) => Number(line.split(",")[column]));
      assert.ok(bytes.length > 0 && bytes[0] >= 1 << 20);
      assert.deepEqual(bytes, [...bytes].sort((a, b) => a - b));
    }));

  it("are copied, the chosen rows with their heads", () =>
    use(
      here.browser,
      at("#tables"),
      async (page) => {
        await rowsShown(page);
        await page.locator(".grid").focus();
        await page.keyboard.press("ArrowDown");
        await page.keyboard.press("Shift+ArrowDown");
        await page.keyboard.press("Shift+ArrowDown");
        assert.equal(await page.locator("tr[aria-selected=true]").count(), 3);
        await page.keyboard.press("Control+c");
        await page.waitForSelector("text=Copied 3 rows");
        const text = await page.evaluate(() => navigator.clipboard.readText());
        assert.equal(text.split("\n").length, 4);
        assert.match(text.split("\n")[0], /^id\taddress/);
      },
      { permissions: ["clipboard-read", "clipboard-write"] },
    ));
});

describe("filters", { skip, timeout: 600_000 }, () => {
  const here = opened(() => [example("annotated.pickle.zst"), example("two_gpus.pickle.zst")]);
  const { at } = here;

  it("are opened with F, written as terms, counted, and cleared", () =>
    use(here.browser, at("#timeline"), async (page) => {
      await settled(page);
      await page.keyboard.press("F");
      await page.waitForSelector("#filter:focus");
      await page.keyboard.type("size:>=1MiB");
      await page.keyboard.press("Enter");
      assert.equal(await waitForParam(page, "filter", Boolean), "size:>=1MiB");
      const { count } = await ask(page, "filter?filter=size:%3E%3D1MiB");
      await page.waitForFunction(
        (text) => document.querySelector(".filterbar [role=status]")?.textContent.includes(text),
        `${count.toLocaleString("en-US")} allocation`,
      );
      await page.getByRole("button", { name: /^Remove block/ }).click();
      await waitForParam(page, "filter", (now) => now === null);
    }));

  it("say what is wrong with a term", () =>
    use(here.browser, at("#timeline?filter=colour:red"), async (page) => {
      expectRefusals(page);
      await page.waitForSelector(".fwrong");
      assert.match(await page.locator(".fwrong").innerText(), /colour.*It may be/s);
      await settled(page);
      await page.getByRole("button", { name: "Clear", exact: true }).click();
      await waitForParam(page, "filter", (now) => now === null);
    }));

  it("are chosen in a panel: every facet writes its term", () =>
    use(here.browser, at("#tables"), async (page) => {
      await page.keyboard.press("F");
      await page.getByRole("button", { name: "Choose" }).click();
      await page.waitForSelector(".fpanel .sw");
      assert.deepEqual(await axeComplaints(page), []);
      await page.getByRole("group", { name: "Category" }).getByRole("button").first().click();
      await waitForParam(page, "filter", (now) => /^category:[a-z]+$/.test(now ?? ""));
      await page.getByLabel("Block size, at least").fill("4k");
      await page.getByLabel("Block size, at least").press("Enter");
      await waitForParam(page, "filter", (now) => /size:>=4k/.test(now ?? ""));
      await page.getByRole("group", { name: "Provenance" }).getByRole("button", { name: "traced" }).click();
      await waitForParam(page, "filter", (now) => /provenance:traced/.test(now ?? ""));
      await page.getByTitle("Exclude the chosen values of provenance").click();
      await waitForParam(page, "filter", (now) => /-provenance:traced/.test(now ?? ""));
      await page.getByRole("textbox", { name: "Stack" }).fill("/forward|loss/");
      await page.getByRole("textbox", { name: "Stack" }).press("Enter");
      await waitForParam(page, "filter", (now) => /stack:\/forward\|loss\//.test(now ?? ""));
      await page.getByRole("group", { name: "Stream" }).getByRole("button").first().click();
      await waitForParam(page, "filter", (now) => /stream:\d/.test(now ?? ""));
      await page.keyboard.press("Escape");
      assert.equal(await page.locator(".fpanel").count(), 0);
    }));

  for (const gl of ["", "?gl=0"]) {
    it(`grey the timeline in place ${gl === "" ? "with WebGL" : "on the fallback"}`, () =>
      use(here.browser, `${here.address}${gl}#timeline`, async (page) => {
        await settled(page);
        // the share of the picture that has a colour
        const coloured = async () => {
          const shot = await page.locator("#timeline").screenshot();
          return page.evaluate(async (bytes) => {
            const image = await createImageBitmap(new Blob([new Uint8Array(bytes)]));
            const canvas = new OffscreenCanvas(image.width, image.height);
            const c = canvas.getContext("2d");
            c.drawImage(image, 0, 0);
            const { data } = c.getImageData(0, 0, image.width, image.height);
            let count = 0;
            for (let i = 0; i < data.length; i += 4) {
              const rgb = data.subarray(i, i + 3);
              if (Math.max(...rgb) - Math.min(...rgb) > 30) count += 1;
            }
            return count / (data.length / 4);
          }, [...shot]);
        };
        const before = await coloured();
        await page.keyboard.press("F");
        await page.waitForSelector("#filter:focus");
        await page.keyboard.type("life:<1");
        await page.keyboard.press("Enter");
        await waitForParam(page, "filter", Boolean);
        await page.keyboard.press("Escape");
        await page.waitForSelector("text=/None of [\\d,]+ allocations passes the filter/");
        await settled(page);
        const after = await coloured();
        assert.ok(before > 0.1 && after < before / 4, `coloured: ${before} before, ${after} after`);
      }));
  }

  it("stay with the view, the device and the reload; numbers of one file do not go to another", () =>
    use(here.browser, at("#timeline?filter=size:>=1k+segment:0"), async (page) => {
      await settled(page);
      await page.keyboard.press("3");
      await page.reload();
      assert.equal(hashOf(page).params.get("filter"), "size:>=1k segment:0");
      await page.locator("button.file").click();
      await page.getByRole("option").nth(1).click();
      await waitForParam(page, "file", (now) => now === "1");
      assert.equal(hashOf(page).params.get("filter"), "size:>=1k");
    }));

  it("are categories in the timeline, the unknown part among them", () =>
    use(here.browser, at("#timeline?colour=category"), async (page) => {
      await settled(page);
      const step = (await ask(page, "session")).files[0].devices[0].peak.active.step;
      const of = await ask(page, `categories?step=${step}`);
      assert.equal(
        of.rows.reduce((sum, row) => sum + row.bytes, 0),
        of.total_bytes,
      );
      assert.ok((await page.locator(".legendbar .lg").count()) >= 1);
      const legend = await page.locator(".legendbar").innerText();
      const unknown = of.rows.find((row) => row.name === "unknown");
      if (unknown.bytes > 0) assert.match(legend, /unknown/);
    }));

  it("lists every key in the help", () =>
    use(here.browser, at("#flame"), async (page) => {
      await page.keyboard.press("?");
      const text = await page.locator("dialog.help").innerText();
      for (const word of ["Timeline", "Flame", "Tables", "Filter", "Sandwich", "Copy the selected rows"]) {
        assert.ok(text.includes(word), word);
      }
      assert.deepEqual(await axeComplaints(page), []);
    }));
});
