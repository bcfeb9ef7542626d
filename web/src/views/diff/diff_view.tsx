// Two recordings compared, or two places of one: what grew, what went, by stack and otherwise.

import { useEffect } from "preact/hooks";
import { diff, laneA, laneB, recordings } from "../../state/answers/diff";
import { type DiffPicture, formatHash } from "../../state/link/url";
import { onKey } from "../../state/page/keys";
import { go, page, pictured } from "../../state/page/store";
import { Icon } from "../../ui/icons";
import { ErrorNotice, Notice } from "../../ui/notice";
import { Switch } from "../../ui/switch";
import { DiffHead } from "./diff_head";
import { FlamePanel } from "./flame_panel";
import { LanesPanel } from "./lanes_panel";
import { choose, chosen, exchange, nextRows, shownBy, step } from "./model";
import { RowsTable } from "./rows_table";
import { Sums, Verdict } from "./summary";
import { NOTHING, rowFilter } from "./words";

function diffKey(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0];
  const onCanvas = target instanceof HTMLCanvasElement;
  const { pic, width } = page.peek();
  switch (event.key) {
    case "ArrowDown":
    case "ArrowUp":
      if (onCanvas) return false;
      step(event.key === "ArrowDown" ? 1 : -1);
      return true;
    case "e":
      exchange();
      return true;
    case "m":
    case "M":
      nextRows(event.key === "m" ? 1 : -1);
      return true;
    case "v":
      go({ pic: pic === "flame" ? "lanes" : "flame" });
      return true;
    case "b":
      go({ width: width === "size" ? "change" : "size", way: [] });
      return true;
    case "f":
      go({ way: [], x: null, y: null });
      return true;
    case "p":
      document.querySelector<HTMLElement>("#diff-find")?.focus();
      return true;
    case "Escape":
      if (!chosen.peek()) return false;
      choose(null);
      return true;
    default:
      return false;
  }
}

const WIDTHS = [
  { key: "size", text: "Size", title: "Width by size  b" },
  { key: "change", text: "Change", title: "Width by change  b" },
] as const;
const PICTURES: readonly [DiffPicture, string][] = [
  ["flame", "Flame"],
  ["lanes", "Timelines"],
];

/** The chosen row in the timeline of each side. */
function RowLinks() {
  const row = chosen.value;
  if (!row) return null;
  const sides = [
    ["A", "a", laneA.value],
    ["B", "b", laneB.value],
  ] as const;
  return (
    <span class="difflinks">
      {sides.map(([name, side, lane]) => {
        const filter = rowFilter(shownBy.value, row, side);
        if (!lane || filter === null || filter === NOTHING) return null;
        const to = {
          ...page.value,
          view: "timeline",
          file: lane.file,
          device: lane.device.ordinal,
          filter,
          x: null,
          y: null,
          at: null,
          sel: null,
        };
        return (
          <a class="btn" key={name} href={formatHash(to)}>
            In {name}’s timeline
            <Icon name="go" />
          </a>
        );
      })}
    </span>
  );
}

function Pictures() {
  const { pic, width } = page.value;
  return (
    <section class={`diffpic is-${pic}`} aria-label="Pictures">
      <div class="phead tophr">
        <Switch
          label="Picture"
          options={PICTURES.map(([key, text]) => ({ key, text, title: `${text}  v` }))}
          chosen={pic}
          onChoose={(key) => go({ pic: key })}
        />
        {pic === "flame" && (
          <Switch
            label="Width"
            options={WIDTHS}
            chosen={width}
            onChoose={(one) => one !== width && go({ width: one, way: [] })}
          />
        )}
        <span class="note opt">
          {pic === "lanes"
            ? "click in a lane to compare there"
            : width === "size"
              ? "width = the larger of A and B, colour = change"
              : "width = the change"}
        </span>
        <RowLinks />
        <span class="end legend hide-s">
          <span>
            <i class="sw d-less" />
            less in B
          </span>
          <span>
            <i class="sw d-same" />
            same
          </span>
          <span>
            <i class="sw d-more" />
            more in B
          </span>
        </span>
      </div>
      {pic === "flame" ? <FlamePanel /> : <LanesPanel />}
    </section>
  );
}

function Nothing() {
  const a = laneA.value;
  return (
    <div class="flameempty">
      <Notice
        icon="diff"
        title="One recording is open; a comparison needs two"
        code="tidegauge view before.pickle after.pickle"
        actions={
          a && (
            <button
              type="button"
              class="btn"
              disabled={a.device.events === 0}
              onClick={() => go({ vs: a.key, pa: "peak", pb: "end", way: [] }, true)}
            >
              Compare its peak with its end
            </button>
          )
        }
      >
        <p>
          Open both at once, or compare two places of this one. In the terminal:{" "}
          <span class="fn">tidegauge diff before.pickle after.pickle</span>
        </p>
      </Notice>
    </div>
  );
}

export function DiffView() {
  useEffect(() => onKey(diffKey), []);
  const { data, error, loading } = diff.value;
  const none = laneB.value === null && recordings.value.length > 0;
  useEffect(() => {
    if (none || data || error) pictured.value = true;
  }, [none, data, error]);
  return (
    <section class="view on" aria-label="Diff">
      <DiffHead />
      {none && <Nothing />}
      {error && (
        <div class="pad14">
          <ErrorNotice
            error={error}
            retry={() => go({ pa: "peak", pb: "", way: [] })}
            retryLabel="Compare at the peaks"
          />
        </div>
      )}
      {!none && !error && !data && (
        <div class="center">
          <div class="progress" role="progressbar" aria-label="Comparing" />
        </div>
      )}
      {!none && data && (
        <div class={`body fill diffbody${loading ? " stale" : ""}`} aria-busy={loading}>
          <Verdict of={data} />
          <Sums of={data} />
          <RowsTable of={data} />
          <Pictures />
        </div>
      )}
    </section>
  );
}
