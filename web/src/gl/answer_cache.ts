// Answers worth keeping, least recently used go first; and the open requests, at most four
// at a time. The view says at every frame what it wants, most urgent first; what it no longer
// wants is aborted, what failed is asked again after a while.

export interface Want<T> {
  key: string;
  /** not visible yet: requested after everything visible has arrived */
  ahead?: boolean;
  load: (signal: AbortSignal) => Promise<T>;
}

interface Entry<T> {
  value: T;
  bytes: number;
}

const MAX_IN_FLIGHT = 4;
export const RETRY_AFTER_MS = 3000;

export class AnswerCache<T> {
  private readonly entries = new Map<string, Entry<T>>();
  private readonly flights = new Map<string, AbortController>();
  private readonly failed = new Map<string, number>();
  private wanted: readonly Want<T>[] = [];
  private held = 0;

  constructor(
    private readonly limitBytes: number,
    private readonly sizeOf: (value: T) => number,
    private readonly onArrival: (key: string, value: T) => void,
    private readonly onEvict: (value: T) => void = () => {},
    private readonly onError: (error: unknown) => void = () => {},
  ) {}

  get bytes(): number {
    return this.held;
  }

  get inFlight(): number {
    return this.flights.size;
  }

  get(key: string): T | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined) return undefined;
    // a Map keeps the order of insertion: taking out and putting back makes it the youngest
    this.entries.delete(key);
    this.entries.set(key, entry);
    return entry.value;
  }

  peek(key: string): T | undefined {
    return this.entries.get(key)?.value;
  }

  /** Most urgent first. */
  want(list: readonly Want<T>[]): void {
    this.wanted = list;
    const keys = new Set(list.map((one) => one.key));
    for (const [key, abort] of this.flights) {
      if (!keys.has(key)) {
        abort.abort();
        this.flights.delete(key);
      }
    }
    this.startSome();
  }

  clear(): void {
    this.want([]);
    for (const entry of this.entries.values()) this.onEvict(entry.value);
    this.entries.clear();
    this.failed.clear();
    this.held = 0;
  }

  private startSome(): void {
    const missing = this.wanted.filter((one) => !this.entries.has(one.key));
    const seen = missing.some((one) => !one.ahead && !this.rests(one.key));
    for (const one of missing) {
      if (this.flights.size >= MAX_IN_FLIGHT) return;
      if (this.flights.has(one.key) || this.rests(one.key) || (one.ahead && seen)) continue;
      this.start(one);
    }
  }

  /** It failed a moment ago. */
  private rests(key: string): boolean {
    const failedAt = this.failed.get(key);
    return failedAt !== undefined && performance.now() - failedAt < RETRY_AFTER_MS;
  }

  private start(one: Want<T>): void {
    const abort = new AbortController();
    this.flights.set(one.key, abort);
    const land = () => {
      if (this.flights.get(one.key) === abort) this.flights.delete(one.key);
    };
    one
      .load(abort.signal)
      .then((value) => {
        land();
        if (abort.signal.aborted) return;
        this.put(one.key, value);
        this.onArrival(one.key, value);
        this.startSome();
      })
      .catch((error: unknown) => {
        land();
        if (!abort.signal.aborted) {
          this.remember(one.key);
          this.onError(error);
        }
        this.startSome();
      });
  }

  private remember(key: string): void {
    for (const old of this.failed.keys()) if (!this.rests(old)) this.failed.delete(old);
    this.failed.set(key, performance.now());
  }

  private put(key: string, value: T): void {
    const bytes = this.sizeOf(value);
    this.entries.set(key, { value, bytes });
    this.held += bytes;
    this.failed.delete(key);
    const needed = new Set(this.wanted.map((one) => one.key));
    for (const [old, entry] of this.entries) {
      if (this.held <= this.limitBytes) break;
      if (old === key || needed.has(old)) continue;
      this.entries.delete(old);
      this.held -= entry.bytes;
      this.onEvict(entry.value);
    }
  }
}
