// Questions to the server. Every URL is relative to the page, which lives below a random token. An
// exported page has no server: it answers itself, from what it holds.
import { frozen, frozenAnswer } from "./frozen";

export type Params = Record<string, string | number | null | undefined>;

/** What went wrong, in words of the server where it has some, with what to do about it. */
export class ApiError extends Error {
  constructor(
    readonly what: string,
    readonly hint: string,
    readonly status: number,
  ) {
    super(what);
  }
}

/**
 * By file: which reading of a recording that grows the page shows. Files that are not here do not.
 */
let generations: ReadonlyMap<number, number> = new Map();

export function showGenerations(of: ReadonlyMap<number, number>): void {
  generations = of;
}

/** Answers of two readings are never mixed: every question says which one it is about. */
function addGenerations(query: URLSearchParams): void {
  for (const [file, gen] of [
    ["file", "gen"],
    ["file_b", "gen_b"],
  ] as const) {
    const shown = query.has(file) ? generations.get(Number(query.get(file))) : undefined;
    if (shown !== undefined && !query.has(gen)) query.set(gen, String(shown));
  }
}

/** `api/at?file=0&x=12`: parameters that are null or undefined are left out. */
export function apiUrl(path: string, params: Params = {}): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(params)) {
    if (value !== null && value !== undefined) query.set(key, String(value));
  }
  addGenerations(query);
  const text = query.toString();
  return text === "" ? `api/${path}` : `api/${path}?${text}`;
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/** Turns anything thrown on the way into an ApiError, so that views can show it in words. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(
    "The server does not answer.",
    "It may have been stopped. Start tidegauge view again and open the link that it prints.",
    0,
  );
}

async function askFrozen(url: string, init: RequestInit): Promise<Response> {
  const answer = await frozenAnswer(url);
  init.signal?.throwIfAborted();
  if (answer instanceof Uint8Array) return new Response(answer);
  throw new ApiError(answer.what, answer.hint, 404);
}

async function ask(url: string, init: RequestInit): Promise<Response> {
  if (frozen !== null) return askFrozen(url, init);
  const response = await fetch(url, init);
  if (response.ok) return response;
  let what = `The server answered ${response.status} to ${url.split("?")[0]}.`;
  let hint = "";
  try {
    const body = (await response.json()) as { error?: { what?: string; hint?: string } };
    what = body.error?.what ?? what;
    hint = body.error?.hint ?? "";
  } catch {
    // no JSON: the status is all that is known
  }
  throw new ApiError(what, hint, response.status);
}

function init(signal: AbortSignal | undefined, rest: RequestInit = {}): RequestInit {
  return signal === undefined ? rest : { ...rest, signal };
}

export async function getJson<T>(path: string, params?: Params, signal?: AbortSignal): Promise<T> {
  const response = await ask(apiUrl(path, params), init(signal));
  return (await response.json()) as T;
}

export async function postJson<T>(
  path: string,
  params: Params,
  body: unknown,
  signal?: AbortSignal,
): Promise<T> {
  const response = await ask(
    apiUrl(path, params),
    init(signal, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
  return (await response.json()) as T;
}

export async function getBuffer(
  path: string,
  params: Params,
  signal?: AbortSignal,
): Promise<ArrayBuffer> {
  const response = await ask(apiUrl(path, params), init(signal));
  return await response.arrayBuffer();
}
