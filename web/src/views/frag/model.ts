// Sentences and scales of the Fragmentation view.
import type {
  Arena,
  Fit,
  FitList,
  Forecast,
  FragAt,
  FragColumns,
  FragScore,
  ModelForecast,
  PoolName,
} from "../../api/frag";
import { bytesText, counted, integer, percent } from "../../text/units";

/** The range of the slider, as powers of two: 512 B to the largest size that means something. */
export const MIN_POWER = 9;

export function mostPower(...bytes: (number | null | undefined)[]): number {
  const largest = Math.max(1, ...bytes.map((one) => one ?? 0));
  return Math.max(MIN_POWER + 1, Math.min(53, Math.ceil(Math.log2(largest))));
}

/** A place of the slider in bytes, in whole blocks of 512. */
export function bytesOfPower(power: number): number {
  return Math.max(512, Math.round(2 ** power / 512) * 512);
}

export function bestOf(forecast: Forecast): ModelForecast | null {
  return forecast.models?.find((one) => one.model === forecast.best) ?? null;
}

/** Fewer moments than this say little about a model. */
const FEW_CHECKS = 10;

const scores = (list: readonly number[]) => list.map((score) => score.toFixed(1)).join(", ");

/** The scores of an arena over the samples; empty where no allocator cuts the memory up. */
export function scoresOf(columns: FragColumns, arena: Arena): number[] {
  return columns[`${arena}_score`].filter((score) => score !== null);
}

/** "46.2 moderate. It rates the layout, not its effect" */
export function scoreText(score: FragScore | null | undefined): string {
  if (score === undefined) return "";
  if (score === null) return "none: no allocator divides this memory";
  return `${score.score.toFixed(1)} ${score.band}. It rates the layout, not its effect`;
}

/** The scores that the recording had at the predicted steps; empty: it ended before. */
export function cameText(forecast: Forecast): string {
  const came = forecast.came.filter((score) => score !== null);
  return came.length === 0 ? "" : `Actual scores: ${scores(came)}`;
}

/** The heading has the score of now: this is the prediction, and how far it can be trusted. */
export function forecastText(forecast: Forecast): string {
  const from = `step ${integer(forecast.from_step)}`;
  if (!forecast.enough) {
    return `No forecast from ${from}: it has ${forecast.history} of the ${forecast.least} samples that it needs`;
  }
  const few =
    forecast.checked < FEW_CHECKS
      ? `; checked at ${counted(forecast.checked, "earlier step")} only`
      : "";
  const best = bestOf(forecast);
  if (!best || !forecast.beats_no_change) {
    return `Forecast from ${from}: no better than assuming no change${few}`;
  }
  return `Forecast from ${from}: ${scores(best.predicted)} (${best.model}), mean error so far ${best.mean_error.toFixed(1)}${few}`;
}

/**
 * What the published model warns of, in words; empty if nothing, or if it is no better than no
 * change.
 */
export function warningText(forecast: Forecast): string {
  const { warnings } = forecast;
  if (!warnings || !forecast.published_beats_no_change) return "";
  const said = [
    warnings.worse ? "getting clearly worse" : "",
    warnings.jump ? "about to jump" : "",
    warnings.trend ? `trend ${(forecast.slope ?? 0) < 0 ? "down" : "up"}` : "",
  ].filter((one) => one !== "");
  return said.length === 0
    ? ""
    : `The published model warns: ${said.join(", ")}; confidence ${(forecast.confidence ?? 0).toFixed(2)}`;
}

export function listName(of: FitList): string {
  const stream = of.stream === null || of.stream === 0 ? "default stream" : `stream ${of.stream}`;
  return `${of.pool.name}, ${stream}`;
}

/**
 * Which list of the pool would serve the request: one that does, else the one with most free bytes.
 * Nothing else may use what is free in a graph's pool.
 */
function servingList(fit: Fit, pool: PoolName): FitList | null {
  const [first, second] = pool.id;
  const lists = fit.lists.filter((one) => one.pool.id[0] === first && one.pool.id[1] === second);
  return lists.find((one) => one.fits) ?? lists[0] ?? null;
}

export interface Verdict {
  fits: boolean;
  /** after "A request of 64.0 MiB" */
  text: string;
  rest: string;
}

function strandedText(list: FitList): string {
  const { free_bytes: free, stranded_bytes: stranded } = list;
  if (free === 0) return "Its segments have no free memory.";
  if (stranded === 0) return `All ${bytesText(free)} free there can serve this size.`;
  if (stranded === free) return `None of ${bytesText(free)} free there can serve this size.`;
  return `${bytesText(stranded)} of ${bytesText(free)} free there cannot serve this size.`;
}

export function verdictOf(fit: Fit, pool: PoolName): Verdict {
  if (fit.allocator === "driver") {
    const free = fit.driver_free;
    return {
      fits: false,
      text: "would go to the driver: no allocator keeps free memory here.",
      rest: free
        ? `${bytesText(free.free_bytes)} of ${bytesText(free.total_bytes)} were free when last reported.`
        : "What the driver had free is not recorded.",
    };
  }
  if (!fit.rules_known) {
    return {
      fits: false,
      text: "cannot be checked: the rules of this allocator are unknown.",
      rest: "",
    };
  }
  const list = servingList(fit, pool);
  if (!list) {
    return {
      fits: false,
      text: `would go to the driver: ${pool.name} has no free list of its size class.`,
      rest: "",
    };
  }
  const stranded = strandedText(list);
  if (list.fits) {
    const times = list.times === 1 ? "once" : `${integer(list.times)} times`;
    return {
      fits: true,
      text: `fits ${times} without new driver memory (${listName(list)}).`,
      rest: stranded,
    };
  }
  const largest =
    list.largest_request_bytes === 0
      ? "no request fits"
      : `the largest that fits is ${bytesText(list.largest_request_bytes)}`;
  return {
    fits: false,
    text: `does not fit (${listName(list)}): ${largest}; ${bytesText(list.driver_bytes)} would be requested from the driver.`,
    rest: stranded,
  };
}

export interface Tile {
  name: string;
  bytes: number;
  note: string;
}

export function tilesOf({ now, size_classes: classes }: FragAt): Tile[] {
  const share = now.segments_bytes === 0 ? 0 : now.free_bytes / now.segments_bytes;
  const worst = [...classes].sort((a, b) => b.waste_bytes - a.waste_bytes)[0];
  return [
    {
      name: "Free inside segments",
      bytes: now.free_bytes,
      note: `${percent(share)} of ${bytesText(now.segments_bytes)} reserved`,
    },
    {
      name: "Pinned by live blocks",
      bytes: now.pinned_bytes,
      note:
        now.pinned_bytes === 0
          ? "nothing is pinned"
          : `${now.pinned_bytes === now.free_bytes ? "all of it, " : ""}${counted(now.pinned_segments, "segment")}`,
    },
    {
      name: "Releasable",
      bytes: now.releasable_bytes,
      note:
        now.releasable_bytes === 0 ? "no whole segment is free" : "can be returned to the driver",
    },
    ...(now.held_in_pools_bytes === 0
      ? []
      : [
          {
            name: "Held in private pools",
            bytes: now.held_in_pools_bytes,
            note: "only their graph or MemPool can use or release it",
          },
        ]),
    {
      name: "Largest hole",
      bytes: now.largest_hole_bytes,
      note:
        now.holes < 2
          ? counted(now.holes, "hole")
          : `of ${integer(now.holes)}; external ${now.external.toFixed(2)}`,
    },
    {
      name: "Rounding waste",
      bytes: now.waste_bytes,
      note:
        worst && worst.waste_bytes > 0
          ? `most in blocks from ${bytesText(worst.from_bytes)}`
          : "block bytes minus requested bytes",
    },
  ];
}
