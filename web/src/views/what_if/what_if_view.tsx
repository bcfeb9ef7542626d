// The allocator replayed under other settings: which would have helped, and what the chosen one
// would have reserved over the recording.
import { useCallback, useEffect, useRef } from "preact/hooks";
import type { WhatIf } from "../../api/what_if";
import { opening, openReplay, replayed, whatIf } from "../../state/answers/what_if";
import { onKey } from "../../state/page/keys";
import { device, go, page, pictured } from "../../state/page/store";
import { bytesText, GIB, integer } from "../../text/units";
import { visible } from "../../text/visible";
import { Canvas } from "../../ui/canvas";
import { Icon } from "../../ui/icons";
import { ErrorNotice, Notice, RECORD_CODE } from "../../ui/notice";
import type { Surface } from "../../ui/plot";
import { Spark } from "../../ui/spark";
import { Amount, Bytes } from "../../ui/text";
import { drawWhatIf } from "./chart";
import {
  chosenRow,
  ownText,
  proofOf,
  type Row,
  replayingText,
  rowsOf,
  settingsText,
  unusedLine,
} from "./rows";

const WIDTH = 92;
const HEIGHT = 18;

/** GiB as somebody writes them; null: no size, so that of the recording. */
function capacityOf(text: string): number | null {
  const gib = Number.parseFloat(text);
  return Number.isFinite(gib) && gib > 0 && gib < 2 ** 20 ? Math.round(gib * GIB) : null;
}

function Head({ data }: { data: WhatIf | null }) {
  const set = useRef<HTMLInputElement>(null);
  const proof = data ? proofOf(data) : null;
  const { set: asked, cap } = page.value;
  return (
    <header class="viewhead">
      <h1>What if</h1>
      <span class="sub cut">{device.value?.label ?? ""}</span>
      {proof && (
        <span class={`tag${proof.whole ? " is-proven" : ""}`} title={visible(proof.title)}>
          {proof.text}
        </span>
      )}
      <form
        class="wifilter"
        onSubmit={(event) => {
          event.preventDefault();
          const text = set.current?.value.trim() ?? "";
          go({ set: text, conf: text });
        }}
      >
        <input
          class="field mono"
          id="wiset"
          ref={set}
          key={asked}
          defaultValue={asked}
          aria-label="Another setting, as in PYTORCH_CUDA_ALLOC_CONF"
          placeholder="max_split_size_mb:200"
          spellcheck={false}
          autocomplete="off"
        />
        <button type="submit" class="btn">
          Try
        </button>
        <label class="note" for="wicap">
          Capacity, GiB
        </label>
        <input
          class="field num"
          id="wicap"
          key={cap ?? data?.capacity_bytes ?? 0}
          defaultValue={data?.capacity_bytes ? String(+(data.capacity_bytes / GIB).toFixed(2)) : ""}
          placeholder="any"
          inputMode="decimal"
          title="Memory available to the process; empty: as recorded"
          onChange={(event) => go({ cap: capacityOf(event.currentTarget.value) })}
        />
      </form>
    </header>
  );
}

function UnusedSpark({ row }: { row: Row }) {
  const text = `Reserved but not in a block: at most ${bytesText(Math.max(0, ...unusedLine(row.of)))}`;
  return <Spark values={unusedLine(row.of)} width={WIDTH} height={HEIGHT} text={text} />;
}

function Bar({ row }: { row: Row }) {
  const text = `At the peak: ${bytesText(row.of.peak_active_bytes)} in blocks, ${bytesText(row.of.unused_at_peak_bytes)} reserved but unused`;
  return (
    <span class="wibar" role="img" aria-label={text} title={text}>
      <i class="wilive" style={{ width: `${row.live * 100}%` }} />
      <i class="wiunused" style={{ width: `${row.unused * 100}%` }} />
    </span>
  );
}

function Peak({ row }: { row: Row }) {
  const range = row.of.peak_reserved_range_bytes;
  const title =
    range && range.least !== range.most
      ? `${bytesText(range.least)} to ${bytesText(range.most)}, by where the driver places segments`
      : undefined;
  return (
    <td class="r num" title={title}>
      <Bytes value={row.of.peak_reserved_bytes} />
    </td>
  );
}

function Table({ rows, chosen, own }: { rows: readonly Row[]; chosen: Row; own: string }) {
  return (
    <div class="wilist" tabIndex={0} role="region" aria-label="Settings, best first">
      <table class="table">
        <thead>
          <tr>
            <th class="r fit">#</th>
            <th>Setting</th>
            <th class="fit">Out of memory</th>
            <th class="r fit">Peak reserved</th>
            <th
              class="fit hide-s"
              title="At the peak of block memory: bytes in blocks, and bytes reserved but unused"
            >
              In blocks, unused
            </th>
            <th class="r fit">Change</th>
            <th class="r fit hide-s" title="How often the cache was flushed to serve a request">
              Retries
            </th>
            <th class="fit hide-s">Unused over steps</th>
            <th class="r fit hide-s" title="cudaMalloc, cudaFree, mapping and unmapping">
              Driver calls
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr
              key={row.key}
              class="picks"
              aria-selected={row === chosen}
              onClick={() => go({ conf: row.key })}
            >
              <td class="r num">{row.rank}</td>
              <td class="conf">
                <button
                  type="button"
                  class="rowbtn cut mono"
                  aria-pressed={row === chosen}
                  title={visible(row.settings)}
                >
                  {row.isOwn && <span class="tag">{own}</span>} {visible(row.settings)}
                </button>
              </td>
              <td>
                <span class={`tag${row.fails ? " is-danger" : " is-proven"}`}>{row.outcome}</span>
              </td>
              <Peak row={row} />
              <td class="hide-s">
                <Bar row={row} />
              </td>
              <td class="r num">{row.change ? <Amount quantity={row.change} /> : "0"}</td>
              <td class="r num hide-s">{integer(row.of.retries)}</td>
              <td class="hide-s">
                <UnusedSpark row={row} />
              </td>
              <td class="r num hide-s">{integer(row.of.driver_allocs + row.of.driver_frees)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** As a file among the others: its state can be stepped, its timeline drawn, both compared. */
function OpenReplay({ settings }: { settings: string }) {
  const { settings: busy, error } = opening.value;
  return (
    <>
      <button
        type="button"
        class="btn"
        disabled={busy !== null}
        title="Adds the replay to the open files, for every view"
        onClick={() => void openReplay(settings)}
      >
        <Icon name="state" /> {busy === settings ? "Opening…" : "Open as a recording"}
      </button>
      {error && (
        <span class="note is-danger" role="alert" title={visible(error.hint)}>
          {visible(error.what)}
        </span>
      )}
    </>
  );
}

function Chosen({ data, row }: { data: WhatIf; row: Row }) {
  const steps = device.value?.events ?? 0;
  const draw = useCallback(
    (s: Surface) =>
      drawWhatIf(s, { own: data.own, chosen: row.of, steps, capacity: data.capacity_bytes }),
    [data, row, steps],
  );
  return (
    <>
      <div class="phead">
        <h2 class="mono cut">{row.isOwn ? ownText(data) : visible(row.settings)}</h2>
        <span class="note">over the recording</span>
        {!row.isOwn && <OpenReplay settings={row.of.settings} />}
        <span class="wilegend" aria-hidden="true">
          <span>
            <i />
            replayed reserved
          </span>
          {!row.isOwn && (
            <span>
              <i class="wirecorded" />
              {ownText(data)}
            </span>
          )}
          <span>
            <i class="wilive" />
            in blocks
          </span>
        </span>
      </div>
      <div class="plot wichart">
        <Canvas
          label={`Reserved bytes over ${integer(steps)} steps under ${settingsText(row.of.settings)}, at most ${bytesText(row.of.peak_reserved_bytes)}`}
          draw={draw}
        />
      </div>
    </>
  );
}

export function WhatIfView() {
  const { data, error, loading } = whatIf.value;
  useEffect(() => {
    if (data || error) pictured.value = true;
  }, [data, error]);
  const rows = data ? rowsOf(data) : [];
  const row = chosenRow(rows, page.value.conf);
  useEffect(
    () =>
      onKey((event) => {
        const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
        const now = whatIf.peek().data;
        if (by === 0 || !now) return false;
        const all = rowsOf(now);
        const at = all.findIndex(({ key }) => key === chosenRow(all, page.peek().conf)?.key);
        const next = all[Math.min(all.length - 1, Math.max(0, at + by))];
        if (next) go({ conf: next.key });
        return true;
      }),
    [],
  );
  const nothing = data !== null && data.verify.events_checked === 0;
  return (
    <section class="view on" aria-label="What if" aria-busy={loading}>
      <Head data={data} />
      {error && (
        <div class="pad14">
          <ErrorNotice
            error={error}
            retry={() => go({ set: "", conf: "" })}
            retryLabel="Remove the setting"
          />
        </div>
      )}
      {nothing && (
        <Notice icon="whatif" title="There is nothing to replay" code={RECORD_CODE}>
          <p>A replay needs allocator events. To record them:</p>
        </Notice>
      )}
      {data && row && !nothing && (
        <>
          {data.sentences.length > 0 && (
            <ul class="sentences">
              {data.sentences.map((text) => (
                <li key={text}>
                  <span>{visible(text)}</span>
                </li>
              ))}
            </ul>
          )}
          <Table rows={rows} chosen={row} own={ownText(data)} />
          <Chosen data={data} row={row} />
        </>
      )}
      {!data && !error && (
        <p class="pad14 note" role="status">
          <Icon name="whatif" /> {replayingText(replayed.value)}
        </p>
      )}
    </section>
  );
}
