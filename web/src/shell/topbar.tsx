// File, devices, search, link, theme, help, inspector.
import { useSignal } from "@preact/signals";
import type { DeviceInfo } from "../api/contract";
import { type Frozen, frozen, frozenDevice, OPEN_HINT } from "../api/frozen";
import { filterOpen } from "../state/answers/filters";
import { liveSource, monitoring } from "../state/answers/live";
import { chosenSet, onlyWorkingSets, workingSets } from "../state/answers/working_set";
import { formatHash, START } from "../state/link/url";
import {
  device,
  file,
  flushHash,
  go,
  goPlace,
  helpOpen,
  inspectorOpen,
  page,
  session,
} from "../state/page/store";
import { toggleTheme } from "../state/page/theme";
import { LANES_VIEW } from "../state/recording/lanes";
import { bytesText, counted, integer } from "../text/units";
import { visible } from "../text/visible";
import { Icon, Logo } from "../ui/icons";
import { Menu } from "../ui/menu";
import { Name } from "../ui/text";
import { lanes, severalLanes } from "../views/lanes/model";
import { viewNamed } from "../views/registry";
import { RecordingPill } from "./recording_pill";
import { SearchBox } from "./search_box";

function FileMenu() {
  const files = session.value?.files ?? [];
  const current = file.value;
  const source = liveSource.value;
  const alone = source
    ? { name: source.name, kind: "monitor" }
    : { name: workingSets.value[chosenSet.value]?.name ?? "", kind: "working set" };
  if (!current && (source || onlyWorkingSets.value)) {
    return (
      <span class="file">
        <span class="mono cut">
          <Name text={alone.name} />
        </span>
        <span class="faint">{alone.kind}</span>
      </span>
    );
  }
  if (!current) return null;
  const facts = `${bytesText(current.data_bytes)} · ${counted(current.events, "event")}`;
  if (files.length < 2) {
    return (
      <span class="file" title={visible(`${current.name}, ${current.format}, ${facts}`)}>
        <span class="mono cut">
          <Name text={current.name} />
        </span>
        <span class="faint">{facts}</span>
      </span>
    );
  }
  return (
    <Menu
      label={visible(`File ${current.name}, one of ${files.length}`)}
      class="file"
      items={files.map((one) => ({
        key: String(one.id),
        label: (
          <span class="mono" title={visible(one.name)}>
            <Name text={one.name} />
          </span>
        ),
        note: `${bytesText(one.data_bytes)} · ${counted(one.events, "event")}`,
      }))}
      chosen={String(current.id)}
      onChoose={(key) => goPlace(Number(key), null)}
    >
      <span class="mono cut">
        <Name text={current.name} />
      </span>
      <span class="faint">{facts}</span>
    </Menu>
  );
}

/** A small gauge: peak live and peak reserved bytes, as parts of the most that was reserved. */
function Gauge({ of }: { of: DeviceInfo }) {
  const full = Math.max(1, of.peak.reserved.bytes, of.peak.active.bytes, of.ceiling_bytes ?? 0);
  const live = Math.min(1, of.peak.active.bytes / full);
  const reserved = Math.min(1, of.peak.reserved.bytes / full);
  return (
    <span class="staff">
      <i style={{ height: `${(live * 100).toFixed(1)}%` }} />
      <b style={{ bottom: `calc(${(reserved * 100).toFixed(1)}% - 1.5px)` }} />
    </span>
  );
}

const MAX_CHIPS = 4;

function Devices() {
  const devices = file.value?.devices ?? [];
  const current = device.value;
  if (!file.value || !current) return null;
  const fileId = file.value.id;
  if (devices.length > MAX_CHIPS) {
    return (
      <Menu
        label={`Device ${current.label}, one of ${devices.length}`}
        class="pick"
        items={devices.map((one) => ({
          key: String(one.ordinal),
          label: one.label,
          note: counted(one.events, "event"),
        }))}
        chosen={String(current.ordinal)}
        onChoose={(key) => goPlace(fileId, Number(key))}
      >
        <Gauge of={current} />
        {current.label}
      </Menu>
    );
  }
  return (
    <div class="chips" role="group" aria-label="Devices">
      {devices.map((one) => (
        <button
          type="button"
          key={one.ordinal}
          class="devchip"
          aria-pressed={one.ordinal === current.ordinal}
          title={`${one.label}: ${counted(one.events, "event")}, peak reserved ${bytesText(one.peak.reserved.bytes)}`}
          onClick={() => goPlace(fileId, one.ordinal)}
        >
          <Gauge of={one} />
          {one.label}
        </button>
      ))}
    </div>
  );
}

/** Search and filter: what needs a server. */
function Asking() {
  return (
    <>
      <SearchBox />
      <button
        type="button"
        class={`iconbtn${page.value.filter === "" ? "" : " has"}`}
        aria-label={page.value.filter === "" ? "Filter" : "Filter, in use"}
        aria-expanded={filterOpen.value || page.value.filter !== ""}
        title="Filter  F"
        onClick={toggleFilter}
      >
        <Icon name="filter" />
      </button>
    </>
  );
}

/** What an exported page contains, and what it does not. */
function Exported({ of }: { of: Frozen }) {
  const range = frozenDevice(device.value?.ordinal);
  const steps =
    range && !range.whole ? `steps ${integer(range.from)} – ${integer(range.to)}` : "all steps";
  const title = `Written ${of.written} by tidegauge ${of.version}. It contains the overview, the timeline and the flame graphs. ${OPEN_HINT}`;
  return (
    <span
      class="exported"
      title={title.replace("see it", "see the map, the state, tables and SQL")}
    >
      <span class="tag">Exported page</span>
      <span class="faint">
        {(device.value?.events ?? 0) > 0 && steps}
        <span class="opt">
          {" "}
          · {of.written} · tidegauge {of.version}
        </span>
      </span>
    </span>
  );
}

/** The way to all of them at once; only where there are several. */
function SideBySide() {
  if (!severalLanes.value) return null;
  const on = page.value.view === LANES_VIEW;
  return (
    <a
      class="iconbtn"
      href={formatHash({ ...page.value, view: on ? "timeline" : LANES_VIEW })}
      aria-label={on ? "Back to one timeline" : `All ${lanes.value.length} side by side`}
      title={on ? "One timeline  L" : "Side by side  L"}
    >
      <Icon name="lanes" class={on ? "accent" : ""} />
    </a>
  );
}

export function TopBar() {
  const copied = useSignal(false);
  return (
    <header class="topbar">
      <a
        class="brand"
        href={formatHash({ ...START, file: page.value.file })}
        aria-label="Tidegauge, overview"
      >
        <Logo />
        <span>Tidegauge</span>
      </a>
      <FileMenu />
      <Devices />
      <SideBySide />
      <RecordingPill />
      <span class="spacer" />
      {frozen !== null && <Exported of={frozen} />}
      {frozen === null && !monitoring.value && !onlyWorkingSets.value && <Asking />}
      <button
        type="button"
        class="iconbtn"
        aria-label={copied.value ? "Link copied" : "Copy a link to this state"}
        title="Copy link  c"
        onClick={() => copyLink(copied)}
      >
        <Icon name={copied.value ? "check" : "link"} class={copied.value ? "okc" : ""} />
      </button>
      <button
        type="button"
        class="iconbtn"
        aria-label="Change theme"
        title="Theme  t"
        onClick={toggleTheme}
      >
        <Icon name="theme" />
      </button>
      <button
        type="button"
        class="iconbtn"
        aria-label="Keyboard and help"
        title="Help  ?"
        onClick={() => {
          helpOpen.value = true;
        }}
      >
        <Icon name="help" />
      </button>
      <button
        type="button"
        class="iconbtn"
        id="inspector-toggle"
        aria-label="Inspector"
        aria-pressed={inspectorOpen.value ?? false}
        title="Inspector  i"
        onClick={toggleInspector}
      >
        <Icon name="side" />
      </button>
    </header>
  );
}

/** Opens the filter, or goes to its field. */
export function toggleFilter(): void {
  if (frozen !== null) return;
  if (viewNamed(page.value.view)?.unfiltered === true) go({ view: "timeline" }, true);
  if (filterOpen.value) document.querySelector<HTMLInputElement>("#filter")?.focus();
  filterOpen.value = true;
}

export function toggleInspector(): void {
  const shown = document.querySelector<HTMLElement>(".side")?.offsetParent !== null;
  inspectorOpen.value = !(shown && document.querySelector(".side") !== null);
}

async function copyLink(copied: { value: boolean }): Promise<void> {
  flushHash();
  try {
    await navigator.clipboard.writeText(location.href);
    copied.value = true;
    window.setTimeout(() => {
      copied.value = false;
    }, 1500);
  } catch {
    // no clipboard: the address bar holds the same link
    go({});
  }
}
