// The names of the lanes with their figures, left of the picture; only those in sight are there.
import type { Ref } from "preact";
import type { Unit } from "../../api/contract";
import { page } from "../../state/page/store";
import type { LaneLayout } from "../../state/recording/lane_order";
import type { PlacedLane } from "../../state/recording/lanes";
import { bytesIn, type Quantity, sharedUnit } from "../../text/units";
import { visible } from "../../text/visible";
import { Amount, Bytes, Name } from "../../ui/text";
import { against, answered, currentKey, facts, lanes, oneFile, reference, values } from "./model";

/** Differences of all lanes share a unit too. */
function differenceUnit(): Unit {
  const of = reference.value ?? 0;
  return sharedUnit(0, ...facts.value.map(({ cursorBytes }) => (cursorBytes ?? of) - of));
}

function Difference({ lane }: { lane: PlacedLane }) {
  const bytes = values.value.get(lane.key)?.activeBytes ?? null;
  const first = lanes.value[0]?.key === lane.key;
  if (against.value === "first" && first) return <dd class="dif faint">first</dd>;
  if (bytes === null || reference.value === null) return <dd class="dif" />;
  const by = bytes - reference.value;
  const look = by > 0 ? "more" : by < 0 ? "less" : "faint";
  const { number, unit } = bytesIn(by, differenceUnit());
  const what = against.value === "first" ? "the first lane" : "the median of all lanes";
  return (
    <dd class={`dif num ${look}`} title={`Live at the cursor, compared with ${what}`}>
      {by === 0 ? "0" : `${by > 0 ? "+" : ""}${number} ${unit}`}
    </dd>
  );
}

/** Lanes are compared: their figures share a unit. */
function unitFor(): Unit {
  const live = facts.value.flatMap(({ cursorBytes }) => cursorBytes ?? []);
  return sharedUnit(...live, ...[...values.value.values()].map((one) => one.reservedBytes), 0);
}

function Figures({ lane }: { lane: PlacedLane }) {
  const value = values.value.get(lane.key);
  const unit = unitFor();
  const show = (bytes: number): Quantity => bytesIn(bytes, unit);
  if (!value && lane.device.events === 0) {
    return (
      <p class="faint">
        At the end <Bytes value={lane.device.final.active_bytes} /> active
      </p>
    );
  }
  if (!value) return <p class="faint">{answered.value ? "nothing recorded here" : "…"}</p>;
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

const LONG_NAME = 20;
const NAME_END = 16;

/**
 * Devices of one file go by their device. Of a long name the end stays: ranks are counted there.
 */
function LaneName({ lane }: { lane: PlacedLane }) {
  if (oneFile.value) return <b class="cut">{lane.device.label}</b>;
  const cut = lane.name.length > LONG_NAME ? lane.name.length - NAME_END : lane.name.length;
  return (
    <>
      <span class="mono cut">
        <Name text={lane.name.slice(0, cut)} />
      </span>
      {cut < lane.name.length && (
        <span class="mono tail">
          <Name text={lane.name.slice(cut)} />
        </span>
      )}
    </>
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
      <div class="lbox">
        <div class="lname" title={visible(`${lane.name}, ${device.label}`)}>
          <LaneName lane={lane} />
          {ooms > 0 && <span class="tag is-danger">{ooms === 1 ? "OOM" : `${ooms} OOM`}</span>}
        </div>
        <div class="lpeak cut">
          {oneFile.value ? "" : `${device.label} · `}peak <Bytes value={peak} />
        </div>
        <Figures lane={lane} />
      </div>
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
