// The names of the lanes with their figures, left of the picture; only those in sight are there.
import type { Ref } from "preact";
import type { LaneLayout } from "../../state/lane_order";
import type { PlacedLane } from "../../state/lanes";
import { page } from "../../state/store";
import { Amount, Bytes, Name } from "../../ui/text";
import { bytesIn, bytesText, type Quantity, sharedUnit } from "../../ui/units";
import { visible } from "../../ui/visible";
import { against, currentKey, facts, lanes, reference, values } from "./model";

/** "+166 MiB", "−12.0 MiB"; nothing where there is nothing to compare. */
export function differenceText(bytes: number | null, of: number | null): string {
  if (bytes === null || of === null) return "";
  const by = bytes - of;
  if (by === 0) return "0";
  return `${by > 0 ? "+" : "−"}${bytesText(Math.abs(by))}`;
}

function Difference({ lane }: { lane: PlacedLane }) {
  const bytes = values.value.get(lane.key)?.activeBytes ?? null;
  const first = lanes.value[0]?.key === lane.key;
  if (against.value === "first" && first) return <dd class="dif faint">first</dd>;
  const text = differenceText(bytes, reference.value);
  const look = text.startsWith("+") ? "more" : text.startsWith("−") ? "less" : "faint";
  const what = against.value === "first" ? "the first lane" : "the median of all lanes";
  return (
    <dd class={`dif num ${look}`} title={`Live at the cursor, compared with ${what}`}>
      {text}
    </dd>
  );
}

/** Lanes are compared: their figures share a unit. */
function unitFor() {
  const live = facts.value.flatMap(({ cursorBytes }) => cursorBytes ?? []);
  return sharedUnit(...live, ...[...values.value.values()].map((one) => one.reservedBytes), 0);
}

function Figures({ lane }: { lane: PlacedLane }) {
  const value = values.value.get(lane.key);
  const unit = unitFor();
  const show = (bytes: number): Quantity => bytesIn(bytes, unit);
  const nothing = lane.domain === null ? "no events" : "nothing recorded here";
  if (!value) return <p class="faint none">{values.value.size > 0 ? nothing : "…"}</p>;
  return (
    <dl>
      <dt>Active</dt>
      <dd>
        <Amount quantity={show(value.activeBytes)} />
      </dd>
      <Difference lane={lane} />
      <dt>Reserved</dt>
      <dd>
        <Amount quantity={show(value.reservedBytes)} />
      </dd>
    </dl>
  );
}

function LaneRow({
  lane,
  index,
  top,
  height,
  onChoose,
  onOpen,
}: {
  lane: PlacedLane;
  index: number;
  top: number;
  height: number;
  onChoose: () => void;
  onOpen: () => void;
}) {
  const { device } = lane;
  const ooms = device.ooms.length;
  const peak = Math.max(device.peak.reserved.bytes, device.peak.active.bytes);
  return (
    <div
      class="lane"
      role="option"
      id={`lane-${lane.key}`}
      tabIndex={-1}
      aria-selected={lane.key === currentKey.value}
      aria-posinset={index + 1}
      aria-setsize={lanes.value.length}
      style={{ top: `${top}px`, height: `${height}px` }}
      onClick={onChoose}
      onDblClick={onOpen}
    >
      <div class="lname" title={visible(`${lane.name}, ${device.label}`)}>
        <span class="mono cut">
          <Name text={lane.name} />
        </span>
        {ooms > 0 && <span class="tag is-danger">{ooms === 1 ? "OOM" : `${ooms} OOM`}</span>}
      </div>
      <div class="lpeak cut">
        {device.label} · peak <Bytes value={peak} />
      </div>
      <Figures lane={lane} />
    </div>
  );
}

interface LaneListProps {
  box: Ref<HTMLDivElement>;
  list: readonly PlacedLane[];
  layout: LaneLayout;
  onScroll: (top: number) => void;
  onChoose: (lane: PlacedLane) => void;
  onOpen: (lane: PlacedLane) => void;
}

export function LaneList({ box, list, layout, onScroll, onChoose, onOpen }: LaneListProps) {
  const { first, last, height, total } = layout;
  const seen = list.slice(first, last);
  const active = seen.some(({ key }) => key === currentKey.value);
  return (
    <div
      class="lanescroll"
      ref={box}
      id="lane-list"
      role="listbox"
      tabIndex={0}
      aria-label={`Recordings, sorted by ${page.value.rank === "file" ? "file" : page.value.rank}`}
      aria-activedescendant={active ? `lane-${currentKey.value}` : undefined}
      onScroll={(event) => onScroll(event.currentTarget.scrollTop)}
    >
      <div role="presentation" style={{ height: `${total}px` }}>
        {seen.map((lane, i) => (
          <LaneRow
            key={lane.key}
            lane={lane}
            index={first + i}
            top={(first + i) * height}
            height={height}
            onChoose={() => onChoose(lane)}
            onOpen={() => onOpen(lane)}
          />
        ))}
      </div>
    </div>
  );
}

/** What the differences are to, below the names. */
export function LaneFoot() {
  const bytes = reference.value;
  if (bytes === null) return <div class="lanefoot" />;
  return (
    <div class="lanefoot">
      {against.value === "median" ? "Median" : "First lane"} <Bytes value={bytes} />
    </div>
  );
}
