// Memory that a process touches: by length of window, by address and time, by mapping. The file was
// written by `tidegauge wss -o`.

import { useCallback, useEffect } from "preact/hooks";
import type { WorkingSet } from "../../api/working_set";
import { chosenSet, workingSet, workingSets } from "../../state/answers/working_set";
import { onKey } from "../../state/page/keys";
import { pictured } from "../../state/page/store";
import { baseName, bytesText, percent } from "../../text/units";
import { visible } from "../../text/visible";
import { Canvas } from "../../ui/canvas";
import { Icon } from "../../ui/icons";
import { Table } from "../../ui/list_table";
import { ErrorNotice, Notice } from "../../ui/notice";
import type { Surface } from "../../ui/plot";
import { Switch } from "../../ui/switch";
import { Bytes } from "../../ui/text";
import { drawCurve } from "./curve";
import { drawHeat, STEPS } from "./heat";
import { MappingTable } from "./mappings";
import { curveText, headText, touchedWord, windowText } from "./words";

const MEASURE_COMMANDS = `sudo tidegauge wss --rolling 16 -d 10 -o wss.jsonl PID 0.1   # heat map and profile
sudo tidegauge wss -P 10 -o profile.jsonl PID 0.01           # windows of 10 ms to 5 s
tidegauge view wss.jsonl`;
const MAX_ROWS = 12;
/** Whether memory was short in a window: then the kernel takes accessed bits away. */
const SHORTAGES = { none: "", near: "reclaiming", short: "short" } as const;

function next(by: number): void {
  const count = workingSets.peek().length;
  if (count > 1) chosenSet.value = (chosenSet.peek() + by + count) % count;
}

function Head({ data }: { data: WorkingSet | null }) {
  const sets = workingSets.value;
  const text = data ? visible(headText(data)) : "";
  return (
    <header class="viewhead">
      <h1>Working set</h1>
      <span class="sub cut" title={text}>
        {text}
      </span>
      {sets.length > 1 && (
        <Switch
          label="File"
          options={sets.map(({ id, name }) => ({
            key: id,
            text: visible(baseName(name)),
            title: `${visible(name)}. Next file  m`,
          }))}
          chosen={chosenSet.value}
          onChoose={(id) => {
            chosenSet.value = id;
          }}
        />
      )}
    </header>
  );
}

function Notes({ data }: { data: WorkingSet }) {
  const words = [data.verdict, data.fit, data.limit?.text ?? ""].filter((text) => text !== "");
  return (
    <>
      {data.careful.length > 0 && (
        <div class="livenote">
          <Icon name="alert" />
          <ul class="wscareful">
            {data.careful.map((text) => (
              <li key={text}>{visible(text)}</li>
            ))}
          </ul>
        </div>
      )}
      {words.length > 0 && (
        <ul class="sentences">
          {words.map((text) => (
            <li key={text}>
              <span>{visible(text)}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Windows({ data }: { data: WorkingSet }) {
  const rows = data.windows.slice(-MAX_ROWS);
  const rss = data.windows.at(-1)?.rss ?? 0;
  // a rolling row's window is its shortest; the curve has all of them
  const shown =
    data.course === "rolling"
      ? data.curve.map((point) => ({ ...point, rss, ci95: 0 as number | null, shortage: null }))
      : rows.map((row) => ({ ...row, bytes: row.referenced }));
  return (
    <div>
      <div class="phead">
        <h2>Windows</h2>
        {rows.length < data.samples && data.course !== "rolling" && (
          <span class="note">the last {rows.length}</span>
        )}
      </div>
      <Table
        heads={[
          { text: "Window" },
          { text: touchedWord(data), class: "r" },
          {
            text: "±",
            class: "r",
            title: "95 % confidence interval; 0: all pages were checked; –: unknown",
          },
          { text: "Of RSS", class: "r" },
        ]}
      >
        {shown.map((row, at) => (
          <tr key={at}>
            <td class="num">
              {windowText(row.window_s)}
              {SHORTAGES[row.shortage ?? "none"] && (
                <span
                  class="tag wsshort"
                  title="Memory was short, or the kernel reclaimed pages: more may have been touched"
                >
                  {SHORTAGES[row.shortage ?? "none"]}
                </span>
              )}
            </td>
            <td class="r num">
              {row.at_least && <span title="More may have been touched">≥ </span>}
              <Bytes value={row.bytes} />
            </td>
            <td class="r num dim">
              {row.ci95 === null ? "–" : row.ci95 === 0 ? "0" : bytesText(row.ci95)}
            </td>
            <td class="r num">{row.rss === 0 ? "–" : percent(row.bytes / row.rss)}</td>
          </tr>
        ))}
      </Table>
    </div>
  );
}

function Profile({ data }: { data: WorkingSet }) {
  const draw = useCallback((s: Surface) => drawCurve(s, data), [data]);
  return (
    <div class="left">
      <div class="phead">
        <h2>Profile</h2>
        <span class="note">{touchedWord(data).toLowerCase()} memory by window length</span>
      </div>
      {data.curve.length > 1 ? (
        <div class="plot wscurve">
          <Canvas label={visible(curveText(data, bytesText))} draw={draw} />
        </div>
      ) : (
        <p class="wsnote">
          This file has windows of one length. <span class="fn">-P 10</span> or{" "}
          <span class="fn">--rolling 16</span> measure several at once.
        </p>
      )}
    </div>
  );
}

function Heat({ data }: { data: WorkingSet }) {
  const { heat } = data;
  const draw = useCallback((s: Surface) => heat && drawHeat(s, heat), [heat]);
  return (
    <>
      <div class="phead">
        <h2>Heat</h2>
        <span class="note">
          {heat ? `by address; one row is ${bytesText(heat.row_bytes)}` : "by address and time"}
        </span>
        {heat && (
          <span class="end ramp">
            untouched
            <span class="cells" aria-hidden="true">
              <i class="wsshade0" />
              {Array.from({ length: STEPS }, (_, at) => (
                <i key={`wsshade${at + 1}`} class={`wsshade${at + 1}`} />
              ))}
            </span>
            all pages
          </span>
        )}
      </div>
      {heat ? (
        <div class="plot wsheat">
          <Canvas
            label={`Touched addresses in ${heat.rows.length} rows over ${windowText(heat.ends_s.at(-1) ?? 0)}`}
            draw={draw}
          />
        </div>
      ) : (
        <p class="wsnote">
          <span class="fn">--rolling 16</span> records which addresses were touched when. It needs
          root.
        </p>
      )}
    </>
  );
}

function Nothing() {
  return (
    <Notice icon="workingset" title="Nothing was measured" code={MEASURE_COMMANDS}>
      <p>The file ends before its first window was over. To measure again:</p>
    </Notice>
  );
}

export function WorkingSetView() {
  useEffect(
    () =>
      onKey((event) => {
        if (event.key !== "m" && event.key !== "M") return false;
        next(event.key === "m" ? 1 : -1);
        return true;
      }),
    [],
  );
  const { data, error } = workingSet.value;
  useEffect(() => {
    if (data || error) pictured.value = true;
  }, [data, error]);
  const none = workingSets.value.length === 0;
  return (
    <section class="view on" aria-label="Working set">
      <Head data={data} />
      {error && (
        <div class="pad14">
          <ErrorNotice error={error} />
        </div>
      )}
      {data && data.samples > 0 && (
        <div class="body" tabIndex={0} role="region" aria-label="Touched memory">
          <Notes data={data} />
          <div class="fraggrid wsgrid">
            <Profile data={data} />
            <Windows data={data} />
          </div>
          <Heat data={data} />
          <MappingTable of={data} />
        </div>
      )}
      {data?.samples === 0 && (
        <div class="body">
          <div class="center">
            <Nothing />
          </div>
        </div>
      )}
      {none && (
        <div class="body">
          <div class="center">
            <Notice icon="workingset" title="No working set was measured" code={MEASURE_COMMANDS}>
              <p>
                To measure how much of its host memory a process touches, and keep it in a file:
              </p>
            </Notice>
          </div>
        </div>
      )}
      {!data && !error && !none && (
        <div class="body">
          <div class="center">
            <div class="progress" role="progressbar" aria-label="Reading the measurement" />
          </div>
        </div>
      )}
    </section>
  );
}
