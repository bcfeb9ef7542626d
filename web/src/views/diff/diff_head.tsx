// Which two, where, and rows by what.

import { computed } from "@preact/signals";
import type { Annotations } from "../../api/contract";
import { becauseB, diff, laneA, laneB, placeOfB, recordings } from "../../state/answers/diff";
import { DIFF_ROWS, type DiffRows } from "../../state/link/url";
import { follow, go, page, placePatch } from "../../state/page/store";
import type { Lane } from "../../state/recording/lanes";
import { visible } from "../../text/visible";
import { Menu, type MenuItem } from "../../ui/menu";
import { Switch } from "../../ui/switch";
import { exchange } from "./model";

const ROWS: Record<DiffRows, string> = {
  stack: "Stack",
  category: "Category",
  size: "Size",
  segment: "Segment",
};

const MAX_PHASES = 60;

function annotationsOf(lane: () => Lane | null) {
  return follow<Annotations>(() => {
    const of = page.value.view === "diff" ? lane() : null;
    return of && { path: "annotations", params: { file: of.file, device: of.device.ordinal } };
  });
}
const phasesA = annotationsOf(() => laneA.value);
const phasesB = annotationsOf(() => laneB.value);

/** "step#2" of every phase with events, in order. */
function occurrences(answer: Annotations | null): string[] {
  const counts = new Map<string, number>();
  const names: string[] = [];
  for (const { name, begin_step, end_step } of answer?.rows ?? []) {
    if (begin_step >= end_step) continue;
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    names.push(`${name}#${count}`);
  }
  return names;
}

/** Phases that both have, as places. */
const phases = computed(() => {
  const inB = new Set(occurrences(phasesB.value.data));
  return occurrences(phasesA.value.data)
    .filter((name) => inB.has(name))
    .slice(0, MAX_PHASES);
});

function LanePick({ side, lane }: { side: "A" | "B"; lane: Lane | null }) {
  const several = new Set(recordings.value.map(({ file }) => file)).size > 1;
  const items: MenuItem[] = recordings.value.map((one) => ({
    key: one.key,
    label: <span class="mono">{several ? visible(one.name) : one.device.label}</span>,
    note: several ? one.device.label : undefined,
  }));
  const choose = (key: string) => {
    const to = recordings.value.find((one) => one.key === key);
    if (!to) return;
    if (side === "B") go({ vs: key, row: "", way: [] }, true);
    else {
      const vs = laneB.value?.key ?? "";
      go({ ...placePatch(to.file, to.device.ordinal), vs, row: "", way: [] }, true);
    }
  };
  const name = lane ? (several ? visible(lane.name) : lane.device.label) : "none";
  // of one file it is the name
  const device = lane && several ? lane.device.label : "";
  const because = side === "B" ? becauseB.value : "";
  return (
    <Menu
      label={[`${side}: ${name}`, device, because].filter((part) => part !== "").join(", ")}
      class="pick diffpick"
      items={items}
      chosen={lane?.key ?? ""}
      onChoose={choose}
    >
      <span class="k">{side}</span>
      <span class="mono cut">{name}</span>
      {device !== "" && <span class="faint diffdevice">{device}</span>}
    </Menu>
  );
}

function PlacePick() {
  const { pa } = page.value;
  const pb = placeOfB.value;
  const [a, b] = [laneA.value, laneB.value];
  const oom = [a, b].every((lane) => (lane?.device.ooms.length ?? 0) > 0);
  const answer = diff.value.data;
  const items: MenuItem[] = [
    { key: "peak", label: "Peak" },
    { key: "end", label: "End" },
    { key: "oom", label: "Out of memory", disabled: !oom },
    ...phases.value.map((name) => ({
      key: `phase:${name}`,
      label: visible(name),
      note: "phase",
    })),
  ];
  const own = pa !== pb || !items.some(({ key }) => key === pa);
  const text = own && answer ? `A at ${answer.a.at}, B at ${answer.b.at}` : (answer?.a.at ?? pa);
  return (
    <Menu
      label={`Compared at: ${text}`}
      class="pick diffplace"
      items={items}
      chosen={own ? "" : pa}
      onChoose={(key) => go({ pa: key, pb: "", row: "", way: [] }, true)}
    >
      <span class="k">At</span>
      <span class="cut">{visible(text)}</span>
    </Menu>
  );
}

export function DiffHead() {
  const { by } = page.value;
  const why = becauseB.value === "" ? "" : `B: ${becauseB.value}`;
  return (
    <header class="viewhead diffhead">
      <h1>Diff</h1>
      <LanePick side="A" lane={laneA.value} />
      <button
        type="button"
        class="btn quiet"
        title="Swap A and B  e"
        disabled={laneB.value === null}
        onClick={exchange}
      >
        ⇄<span class="vh">Swap A and B</span>
      </button>
      <LanePick side="B" lane={laneB.value} />
      {laneB.value !== null && <PlacePick />}
      <span class="spacer cut" title={why}>
        <span class="faint opt">{why}</span>
      </span>
      <Switch
        label="Rows by"
        options={DIFF_ROWS.map((key) => ({ key, text: ROWS[key], title: `Rows by ${key}  m` }))}
        chosen={by}
        onChoose={(one) => one !== by && go({ by: one, row: "" })}
      />
    </header>
  );
}
