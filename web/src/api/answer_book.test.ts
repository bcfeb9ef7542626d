import { describe, expect, it } from "vitest";
import { AnswerBook, keyOf, nearest, nearKey, rowsOfPlanes } from "./answer_book";
import { type FrozenDevice, frozenTile, refusalOf } from "./frozen";

async function packed(bytes: BlobPart): Promise<string> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
  const out = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(String.fromCharCode(...out));
}

async function bookOf(bodies: Record<string, string>): Promise<AnswerBook> {
  const keys = Object.keys(bodies);
  const encoded = keys.map((key) => new TextEncoder().encode(bodies[key]));
  const begin = encoded.map((_, i) =>
    encoded.slice(0, i).reduce((sum, one) => sum + one.length, 0),
  );
  const index = {
    keys,
    block: keys.map(() => 0),
    begin,
    bytes: encoded.map((one) => one.length),
  };
  const blocks = [
    await packed(Object.values(bodies).join("")),
    await packed(JSON.stringify(index)),
  ];
  return new AnswerBook(blocks.length, (i) => blocks[i] ?? "");
}

async function text(book: AnswerBook, url: string): Promise<string | null> {
  const body = await book.find(url);
  return body === null ? null : new TextDecoder().decode(body);
}

describe("the answers inside an exported page", () => {
  it("are found whatever the order of the parameters is", async () => {
    const book = await bookOf({ session: "S", "overview?device=0": "O" });
    expect(await text(book, "api/session")).toBe("S");
    expect(await text(book, "api/overview?file=0&device=0")).toBe("O");
    expect(await text(book, "api/overview?file=0&device=1")).toBeNull();
    expect(keyOf("api/at?x=3&file=0&device=-1&axis=step")).toBe("at?axis=step&device=-1&x=3");
  });

  it("are the nearest for a step that was not asked", async () => {
    const key = (x: number) => `at?axis=step&device=0&x=${x}`;
    const book = await bookOf({ [key(10)]: "ten", [key(100)]: "hundred", [key(9)]: "nine" });
    const at = (x: number) => text(book, `api/at?file=0&device=0&axis=step&x=${x}`);
    expect(await at(10)).toBe("ten");
    expect(await at(0)).toBe("nine");
    expect(await at(55)).toBe("ten");
    expect(await at(56)).toBe("hundred");
    expect(await at(1e9)).toBe("hundred");
    expect(await text(book, "api/at?file=0&device=1&axis=step&x=10")).toBeNull();
    // other parameters must be met: a filter that the page cannot apply is no small difference
    expect(await text(book, "api/at?device=0&axis=step&x=10&filter=size:1")).toBeNull();
  });

  it("get the stack back that they share", async () => {
    const stack = '{"id":812,"frames":["$&"]}';
    const told = '{"label":"{\\"shared\\":9}","stack":{"shared":812}}';
    const book = await bookOf({ "allocation?id=1": told, "stack?id=812": stack });
    const answer = JSON.parse((await text(book, "api/allocation?file=0&id=1")) ?? "");
    expect(answer).toEqual({ label: '{"shared":9}', stack: { id: 812, frames: ["$&"] } });
  });

  it("say when a block is damaged", async () => {
    const book = new AnswerBook(1, () => "AAAA");
    await expect(book.find("api/session")).rejects.toThrow();
  });

  it("may be off by a step only where that is meant", () => {
    expect(nearKey("flame?device=0&of=live&step=7")).toEqual({
      stem: "flame?device=0&of=live&",
      number: 7,
    });
    expect(nearKey("allocation?id=7")).toBeNull();
    expect(nearKey("flame?device=0&of=peak")).toBeNull();
    expect(nearest([], 3)).toBeNull();
    expect(nearest([5], 3)).toBe(5);
  });
});

it("puts planes of bytes back into rows", () => {
  const planes = Uint8Array.from([9, 9, 1, 4, 2, 5, 3, 6]);
  expect([...rowsOfPlanes(planes, 2, 3)]).toEqual([9, 9, 1, 2, 3, 4, 5, 6]);
  // no whole number of rows: left as it is
  expect(rowsOfPlanes(planes, 2, 4)).toBe(planes);
});

describe("the tile that stands for one that is not in the page", () => {
  const of: FrozenDevice = {
    ordinal: 0,
    from: 1024,
    to: 2047,
    whole: false,
    coarsest_level: 4,
    finest_level: 1,
    row_level: 20,
    allocations: 1200,
    allocations_drawn: 3400,
  };

  it("is the finest inside the range, and an ancestor outside", () => {
    expect(frozenTile(of, 1, 1, 512)).toEqual({ level: 1, index: 1 });
    expect(frozenTile(of, 0, 3, 512)).toEqual({ level: 1, index: 1 });
    expect(frozenTile(of, 0, 0, 512)).toEqual({ level: 2, index: 0 });
    expect(frozenTile(of, 1, 7, 512)).toEqual({ level: 4, index: 0 });
  });

  it("has words for what is not there", () => {
    expect(refusalOf("allocation", [of]).hint).toMatch(/1,200 largest of the 3,400 blocks/);
    const all = { ...of, allocations: 199, allocations_drawn: 199 };
    expect(refusalOf("allocation", [all]).hint).toMatch(/^Small blocks that are drawn together/);
    const two = refusalOf("allocation", [of, { ...of, ordinal: 1, allocations: 7 }]).hint;
    expect(two).toMatch(/1,200 of 3,400 on device 0, 7 of 3,400 on device 1\./);
    expect(refusalOf("allocation", [of, { ...all, ordinal: 1 }]).hint).not.toMatch(/199|3,599/);
    expect(refusalOf("sql", [of]).hint).toMatch(/tidegauge view/);
  });
});
