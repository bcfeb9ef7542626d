// The answers inside an exported page: gzipped blocks, unpacked when one of them is needed, and an
// index of bodies by key. Written by src/export/page/page_pack.cpp; docs/formats/one-file-page.md.

interface Index {
  keys: string[];
  block: number[];
  begin: number[];
  bytes: number[];
}

interface Entry {
  block: number;
  begin: number;
  bytes: number;
}

/** Blocks are about 1 MiB each when unpacked. */
const MAX_UNPACKED = 24;
const TILE_HEAD_BYTES = 64;
const QUAD_BYTES = 32;

const WITH_STACK = /^(at|allocation)\?/;
/** Inside of a text of the file the quotes would be escaped. */
const SHARED = /\{"shared":(\d+)\}/;

/** The parameter that a question may be off by: the nearest answer there is will do. */
const NEAREST: Record<string, string> = { at: "x", legend: "step", flame: "step" };

/** `api/at?file=0&x=12&device=1` → `at?device=1&x=12`: a page holds one file. */
export function keyOf(url: string): string {
  const [path = "", query = ""] = url.replace(/^api\//, "").split("?");
  const params = [...new URLSearchParams(query)].filter(([name]) => name !== "file");
  if (params.length === 0) return path;
  const sorted = params.sort(([a], [b]) => (a < b ? -1 : 1));
  return `${path}?${sorted.map(([name, value]) => `${name}=${value}`).join("&")}`;
}

/** A key without the number that may be off, and that number; null: it must be met exactly. */
export function nearKey(key: string): { stem: string; number: number } | null {
  const name = NEAREST[key.split("?")[0] ?? ""];
  const found = name === undefined ? null : new RegExp(`[?&]${name}=(\\d+)(?=&|$)`).exec(key);
  if (!found) return null;
  return { stem: key.replace(found[0], found[0].charAt(0)), number: Number(found[1]) };
}

/** The nearest of ascending numbers; between two equally near ones, the lower. */
export function nearest(numbers: readonly number[], wanted: number): number | null {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  const [below, above] = [numbers[low - 1], numbers[low]];
  if (below === undefined || above === undefined) return below ?? above ?? null;
  return wanted - below <= above - wanted ? below : above;
}

/** Columns of bytes back into rows; see bytePlanes() in src/export/page/page_pack.h. */
export function rowsOfPlanes(planes: Uint8Array, head: number, row: number): Uint8Array {
  const rows = (planes.length - head) / row;
  if (planes.length < head || !Number.isInteger(rows)) return planes;
  const out = new Uint8Array(planes.length);
  out.set(planes.subarray(0, head));
  for (let column = 0, from = head; column < row; column += 1) {
    for (let at = head + column; at < out.length; at += row, from += 1) out[at] = planes[from] ?? 0;
  }
  return out;
}

function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i += 1) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function unpack(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytesOfBase64(text)]).stream();
  const unpacked = stream.pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(unpacked).arrayBuffer());
}

export class AnswerBook {
  private readonly unpacked = new Map<number, Promise<Uint8Array<ArrayBuffer>>>();
  private opened: Promise<void> | null = null;
  private readonly entries = new Map<string, Entry>();
  private readonly near = new Map<string, { numbers: number[]; key: Map<number, string> }>();

  /** `block(i)` is the text of block i, of `blocks`; the last one is the index. */
  constructor(
    private readonly blocks: number,
    private readonly block: (index: number) => string,
  ) {}

  /** The body of the answer to a question, or to the nearest that was asked; null: none. */
  async find(url: string): Promise<Uint8Array<ArrayBuffer> | null> {
    this.opened ??= this.open();
    await this.opened;
    const key = keyOf(url);
    const body = await this.body(this.entries.has(key) ? key : (this.nearestKey(key) ?? ""));
    if (body === null) return null;
    if (key.startsWith("tile?")) {
      return rowsOfPlanes(body, TILE_HEAD_BYTES, QUAD_BYTES) as Uint8Array<ArrayBuffer>;
    }
    return WITH_STACK.test(key) ? this.withStack(body) : body;
  }

  private async body(key: string): Promise<Uint8Array<ArrayBuffer> | null> {
    const found = this.entries.get(key);
    if (!found) return null;
    const block = await this.unpackBlock(found.block);
    if (found.begin + found.bytes > block.length) throw new RangeError("the block is too short");
    return block.slice(found.begin, found.begin + found.bytes);
  }

  /** Many answers have the same stack: it is in the page once. */
  private async withStack(body: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
    const text = new TextDecoder().decode(body);
    const shared = SHARED.exec(text);
    const stack = shared && (await this.body(`stack?id=${shared[1]}`));
    if (!shared || !stack) return body;
    const whole = text.replace(shared[0], () => new TextDecoder().decode(stack));
    return new TextEncoder().encode(whole) as Uint8Array<ArrayBuffer>;
  }

  private async open(): Promise<void> {
    const text = new TextDecoder().decode(await unpack(this.block(this.blocks - 1)));
    const index = JSON.parse(text) as Index;
    index.keys.forEach((key, i) => {
      this.entries.set(key, {
        block: index.block[i] ?? 0,
        begin: index.begin[i] ?? 0,
        bytes: index.bytes[i] ?? 0,
      });
      this.file(key);
    });
    for (const shelf of this.near.values()) shelf.numbers.sort((a, b) => a - b);
  }

  private file(key: string): void {
    const of = nearKey(key);
    if (!of) return;
    const shelf = this.near.get(of.stem) ?? { numbers: [], key: new Map<number, string>() };
    shelf.numbers.push(of.number);
    shelf.key.set(of.number, key);
    this.near.set(of.stem, shelf);
  }

  private nearestKey(key: string): string | null {
    const of = nearKey(key);
    const shelf = of && this.near.get(of.stem);
    const number = shelf ? nearest(shelf.numbers, of.number) : null;
    return number === null ? null : (shelf?.key.get(number) ?? null);
  }

  private unpackBlock(index: number): Promise<Uint8Array<ArrayBuffer>> {
    const known = this.unpacked.get(index);
    // taking out and putting back makes it the youngest
    this.unpacked.delete(index);
    const bytes = known ?? unpack(this.block(index));
    this.unpacked.set(index, bytes);
    const oldest = this.unpacked.keys().next().value;
    if (this.unpacked.size > MAX_UNPACKED && oldest !== undefined) this.unpacked.delete(oldest);
    return bytes;
  }
}
