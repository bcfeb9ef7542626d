// The head of the lanes: how they are sorted and compared, coloured, scaled and aligned.
import { LEGENDS, type LegendBy } from "../../api/contract";
import {
  LANE_REFERENCES,
  LANE_SORTS,
  type LaneReference,
  type LaneSort,
} from "../../state/link/page_state";
import { colourings } from "../../state/page/cursor";
import { go, page } from "../../state/page/store";
import { Menu } from "../../ui/menu";
import { Switch } from "../../ui/switch";
import { MarkChip } from "../picture/panels/mark_chip";
import { changeAxis, NO_TIME_AXIS } from "./keys";
import { against, lanes, shared, timed } from "./model";

const SORTS: Record<LaneSort, string> = {
  file: "file order",
  peak: "peak",
  cursor: "at the cursor",
  difference: "difference",
};

const REFERENCES: Record<LaneReference, string> = { median: "median", first: "first" };

function Pick<T extends string>(props: {
  name: string;
  names: Record<T, string>;
  list: readonly T[];
  chosen: T;
  opt?: boolean;
  onChoose: (key: T) => void;
}) {
  const { name, names, list, chosen, onChoose } = props;
  return (
    <Menu
      label={`${name}: ${names[chosen]}`}
      class="pick"
      items={list.map((key) => ({ key, label: names[key] }))}
      chosen={chosen}
      onChoose={(key) => onChoose(key as T)}
    >
      <span class="k">{name}</span>
      {names[chosen]}
    </Menu>
  );
}

const COLOURS = Object.fromEntries(LEGENDS.map((by) => [by, by])) as Record<LegendBy, string>;

const SCALES = [
  { key: "same", text: "Same scale", title: "All lanes use one byte scale  v" },
  { key: "own", text: "Own", title: "Each lane has its own byte scale  v" },
] as const;

const ALIGNED = [
  { key: "clock", text: "Clock", title: "Lanes are aligned by clock time  l" },
  { key: "first", text: "First event", title: "Lanes are aligned at their first event  l" },
] as const;

export function LanesHead({ onFit }: { onFit: () => void }) {
  const { align, domain } = shared.value;
  const time = domain.axis === "time";
  return (
    <header class="viewhead laneshead">
      <h1>Side by side</h1>
      <span class="sub cut">{lanes.value.length} recordings</span>
      <MarkChip />
      <Pick
        name="Sort"
        names={SORTS}
        list={LANE_SORTS}
        chosen={page.value.rank}
        onChoose={(rank) => go({ rank })}
      />
      <Pick
        name="Against"
        names={REFERENCES}
        list={LANE_REFERENCES}
        chosen={against.value}
        onChoose={(reference) => go({ against: reference })}
      />
      <Pick
        name="Colour"
        names={COLOURS}
        list={colourings.value}
        chosen={page.value.colour}
        onChoose={(colour) => go({ colour })}
      />
      <Switch
        label="Vertical scale"
        options={SCALES}
        chosen={page.value.own ? "own" : "same"}
        onChoose={(key) => go({ own: key === "own" })}
      />
      <Switch
        label="Horizontal axis"
        options={[
          {
            key: "step",
            text: "Step",
            title: "Events of each recording, counted from the first  x",
          },
          {
            key: "time",
            text: "Time",
            title: timed.value ? "Time  x" : NO_TIME_AXIS,
            disabled: !timed.value,
          },
        ]}
        chosen={domain.axis}
        onChoose={(key) => key !== domain.axis && changeAxis()}
      />
      {time && (
        <Switch
          label="Aligned by"
          options={ALIGNED}
          chosen={align}
          onChoose={(key) => go({ align: key })}
        />
      )}
      <button type="button" class="btn quiet opt" title="Fit  f" onClick={onFit}>
        Fit <kbd>f</kbd>
      </button>
    </header>
  );
}
