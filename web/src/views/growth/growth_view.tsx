// Stacks that hold more and more, memory that was never freed, and memory that is freed at once: by
// stack, with a spark line each. A row selects an example allocation; the inspector shows its
// stack.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { GrowthAnswer, GrowthSentence } from "../../api/growth";
import { GROWTH_LISTS, type GrowthList } from "../../state/link/page_state";
import { formatHash } from "../../state/link/url";
import { onKey } from "../../state/page/keys";
import { device, follow, go, page, pictured, place } from "../../state/page/store";
import { visible } from "../../text/visible";
import { ErrorNotice, Notice, RECORD_CODE } from "../../ui/notice";
import { Spark } from "../../ui/spark";
import { Switch } from "../../ui/switch";
import { FrameLabel } from "../../ui/text";
import { actionsOf, isKnown, type Row, type Shown, shownOf } from "./rows";

const growth = follow<GrowthAnswer>(() =>
  page.value.view === "growth" && place.value
    ? { path: "growth", params: { ...place.value } }
    : null,
);

const NAMES: Record<GrowthList, string> = {
  growing: "Growing",
  never_freed: "Never freed",
  churn: "Churn",
};
const WIDTH = 92;
const HEIGHT = 18;

function Head() {
  const list = page.value.growth;
  return (
    <header class="viewhead">
      <h1>Growth</h1>
      <span class="sub cut">{device.value?.label ?? ""}</span>
      <Switch
        label="List"
        options={GROWTH_LISTS.map((key) => ({ key, text: NAMES[key], title: "Next list  m" }))}
        chosen={list}
        onChoose={(name) => go({ growth: name })}
      />
    </header>
  );
}

/** What the report says, each with the query that gives its numbers. */
function Sentences({ list }: { list: readonly GrowthSentence[] }) {
  return (
    <ul class="sentences">
      {list.map(({ text, sql }) => (
        <li key={text}>
          <span>{visible(text)}</span>
          {sql !== null && (
            <a
              href={formatHash({ ...page.value, view: "sql", sql })}
              title="The query that gives these numbers"
            >
              SQL
            </a>
          )}
        </li>
      ))}
    </ul>
  );
}

interface TableProps {
  shown: Shown;
  chosen: string | null;
  choose: (row: Row) => void;
}

function Table({ shown, chosen, choose }: TableProps) {
  return (
    <div class="growthlist" tabIndex={0} role="region" aria-label="By stack">
      <table class="table">
        <thead>
          <tr>
            <th>Stack</th>
            <th class="fit">{shown.spark}</th>
            {shown.heads.map((head) => (
              <th key={head.text} class={`r fit${head.hide ? " hide-s" : ""}`} title={head.title}>
                {head.text}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.rows.map((row) => (
            <tr
              key={row.key}
              class="picks"
              aria-selected={row.key === chosen}
              onClick={() => choose(row)}
            >
              <td class="wide">
                <span class="swrow">
                  <i class={`sw cat${row.slot}`} />
                  <button type="button" class="rowbtn cut" aria-pressed={row.key === chosen}>
                    <FrameLabel label={row.label} caller={row.caller} />
                  </button>
                </span>
              </td>
              <td>
                <Spark values={row.spark} width={WIDTH} height={HEIGHT} text={row.sparkText} />
              </td>
              {row.cells.map((cell, at) => (
                <td
                  key={shown.heads[at]?.text ?? at}
                  class={`r num${shown.heads[at]?.hide ? " hide-s" : ""}`}
                  title={cell.exact === "" ? undefined : cell.exact}
                >
                  {cell.text}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Nothing({ list, known }: { list: GrowthList; known: boolean }) {
  const events = device.value?.events ?? 0;
  if (events === 0) {
    return (
      <Notice icon="growth" title="There are no events" code={RECORD_CODE}>
        <p>Growth and churn need events. To record them:</p>
      </Notice>
    );
  }
  if (list === "growing" && !known) {
    return (
      <Notice icon="growth" title="Growth is unknown for this recording">
        <p>The reason is stated above. The lists Never freed and Churn are available.</p>
      </Notice>
    );
  }
  const titles: Record<GrowthList, string> = {
    growing: "No stack grows",
    never_freed: "Everything was freed",
    churn: "No memory was freed soon after its allocation",
  };
  return (
    <Notice icon="growth" title={titles[list]}>
      <p>Weights that stay, and memory that the allocator keeps for reuse, are not growth.</p>
    </Notice>
  );
}

export function GrowthView() {
  const chosen = useSignal<string | null>(null);
  const list = page.value.growth;
  useEffect(
    () =>
      onKey((event) => {
        if (event.key !== "m" && event.key !== "M") return false;
        const by = event.key === "m" ? 1 : GROWTH_LISTS.length - 1;
        const at = GROWTH_LISTS.indexOf(page.peek().growth) + by;
        go({ growth: GROWTH_LISTS[at % GROWTH_LISTS.length] ?? "growing" });
        return true;
      }),
    [],
  );
  useEffect(() => {
    chosen.value = null;
  }, [list, chosen]);
  const { data, error } = growth.value;
  useEffect(() => {
    if (data || error) pictured.value = true;
  }, [data, error]);
  const shown = data ? shownOf(data, list) : null;
  const row = shown?.rows.find((one) => one.key === chosen.value) ?? null;
  const cleanUp = (list === "growing" && data?.growth.clean_up_step) || null;
  const sentences = data ? [...data[list === "growing" ? "growth" : list].sentences] : [];
  if (data && list === "growing") sentences.push(...data.wall.sentences);
  return (
    <section class="view on" aria-label="Growth">
      <Head />
      {error && (
        <div class="pad14">
          <ErrorNotice
            error={error}
            retry={() => go({ growth: "growing" })}
            retryLabel="Try again"
          />
        </div>
      )}
      {shown && sentences.length > 0 && <Sentences list={sentences} />}
      {shown && shown.rows.length > 0 && (
        <>
          <div class="strip">
            {row ? (
              actionsOf(
                row,
                list,
                (cleanUp ?? device.value?.events ?? 1) - 1,
                cleanUp !== null,
              ).map((action) => (
                <a
                  class="btn"
                  key={action.name}
                  href={formatHash({ ...page.value, ...action.patch })}
                  title={action.title}
                >
                  {action.name}
                </a>
              ))
            ) : (
              <span class="faint cut">
                Select a row to see its stack and to open it in other views
              </span>
            )}
          </div>
          <Table
            shown={shown}
            chosen={chosen.value}
            choose={(of) => {
              chosen.value = of.key;
              go({ sel: of.example });
            }}
          />
        </>
      )}
      {shown && shown.rows.length === 0 && (
        <div class="body">
          <div class="center">
            <Nothing list={list} known={data !== null && isKnown(data)} />
          </div>
        </div>
      )}
      {!data && !error && (
        <div class="body">
          <div class="center">
            <div class="progress" role="progressbar" aria-label="Computing growth" />
          </div>
        </div>
      )}
    </section>
  );
}
