// One device at the end of the recording: a horizontal gauge of live, free and reserved bytes.
import { useSignal } from "@preact/signals";
import { useCallback } from "preact/hooks";
import type { DeviceInfo } from "../../api/contract";
import { formatHash } from "../../state/link/url";
import { device, file, isView, page } from "../../state/page/store";
import { byteTicks, multiples } from "../../text/ticks";
import { bytesText, counted, integer } from "../../text/units";
import { Canvas } from "../../ui/canvas";
import { ShowAll } from "../../ui/list_table";
import { axisLabel, axisUnit, font, hatch, label, type Surface, vertical } from "../../ui/plot";
import { Bytes } from "../../ui/text";

function drawGauge(s: Surface, of: DeviceInfo): void {
  const { c, width } = s;
  const most = Math.max(of.peak.reserved.bytes, of.ceiling_bytes ?? 0, of.final.active_bytes, 1);
  const full = most * 1.045;
  const toX = (bytes: number) => (bytes / full) * width;
  const [y, h] = [16, 16];
  const { active_bytes: live, reserved_bytes: reserved } = of.final;
  c.fillStyle = s.token("bg");
  c.fillRect(0, y, toX(most), h);
  c.fillStyle = s.token("accent");
  c.fillRect(0, y, toX(live), h);
  c.fillStyle = s.token("reserved-weak");
  c.fillRect(toX(live), y, toX(reserved) - toX(live), h);
  c.fillStyle = hatch(c, s.token("reserved"));
  c.fillRect(toX(live), y, toX(reserved) - toX(live), h);
  c.fillStyle = s.token("reserved");
  c.fillRect(toX(reserved) - 1, y - 2, 2, h + 4);
  if (of.ceiling_bytes !== null)
    vertical(s, toX(of.ceiling_bytes), y - 3, y + h + 3, s.token("ink-2"));
  const x = toX(of.peak.reserved.bytes);
  c.beginPath();
  c.moveTo(x, y - 2);
  c.lineTo(x - 4, y - 8);
  c.lineTo(x + 4, y - 8);
  c.fill();
  font(s);
  const roomLeft = x > 90;
  label(s, "peak reserved", x + (roomLeft ? -8 : 8), y - 7, {
    align: roomLeft ? "right" : "left",
    colour: s.token("reserved-text"),
  });
  const { major, minor } = byteTicks(full, width, 110);
  const unit = axisUnit(full, major);
  c.strokeStyle = s.token("axis");
  c.beginPath();
  for (const bytes of multiples(0, full, minor, 200)) {
    const at = Math.round(toX(bytes)) + 0.5;
    const long = Math.abs(bytes / major - Math.round(bytes / major)) < 1e-6;
    c.moveTo(at, y + h + 2);
    c.lineTo(at, y + h + (long ? 7 : 4));
  }
  c.lineWidth = 1;
  c.stroke();
  for (const bytes of multiples(0, full, major, 40)) {
    const text = axisLabel(bytes, unit, major);
    const half = s.c.measureText(text).width / 2;
    if (toX(bytes) + half > width) continue;
    label(s, text, Math.max(half, toX(bytes)), y + h + 13, { align: "center" });
  }
}

function DeviceCard({ of }: { of: DeviceInfo }) {
  const draw = useCallback((s: Surface) => drawGauge(s, of), [of]);
  const free = Math.max(0, of.final.reserved_bytes - of.final.active_bytes);
  const state = { ...page.value, device: of.ordinal, x: null, y: null, at: null, sel: null };
  const mine = of.ordinal === device.value?.ordinal;
  return (
    <div class={`card${mine ? " mine" : ""}`}>
      <div class="hd">
        <b>
          <a href={formatHash(state)}>{of.label}</a>
        </b>
        {counted(of.events, "event")}
        {of.oom_count > 0 && <span class="tag is-danger">{integer(of.oom_count)} OOM</span>}
      </div>
      <div class="plot">
        <Canvas
          label={`${of.label}: ${bytesText(of.final.active_bytes)} live of ${bytesText(of.final.reserved_bytes)} reserved, peak reserved ${bytesText(of.peak.reserved.bytes)}`}
          draw={draw}
        />
      </div>
      <dl class="kv">
        <dt>Live</dt>
        <dd>
          <Bytes value={of.final.active_bytes} />
        </dd>
        <dt>Free in segments</dt>
        <dd>
          <Bytes value={free} />
        </dd>
        <dt>Reserved</dt>
        <dd>
          <Bytes value={of.final.reserved_bytes} />
        </dd>
        <dt>Peak live</dt>
        <dd>
          {of.peak.active.at_least ? "≥ " : ""}
          <Bytes value={of.peak.active.bytes} />
        </dd>
      </dl>
    </div>
  );
}

/** The one that is shown first, then those that reserved most; in the order of the file. */
export function chosenCards(devices: readonly DeviceInfo[], shown: number, most: number) {
  const rank = (one: DeviceInfo) =>
    one.ordinal === shown ? Number.POSITIVE_INFINITY : one.peak.reserved.bytes;
  const first = [...devices].sort((a, b) => rank(b) - rank(a)).slice(0, most);
  return devices.filter((one) => first.includes(one));
}

const FIRST_CARDS = 8;
/** more canvases than this are no picture any more: the table of devices has them all */
const MAX_CARDS = 64;

export function DeviceCards() {
  const all = useSignal(false);
  const devices = file.value?.devices ?? [];
  const most = all.value ? MAX_CARDS : FIRST_CARDS;
  const cards = chosenCards(devices, device.value?.ordinal ?? 0, most);
  const sql = "SELECT *\nFROM devices";
  const hidden = devices.length - cards.length;
  return (
    <div class="stackv">
      {cards.map((one) => (
        <DeviceCard key={one.ordinal} of={one} />
      ))}
      {hidden > 0 && !all.value && (
        <ShowAll
          text={
            devices.length <= MAX_CARDS
              ? `Show all ${integer(devices.length)}`
              : `Show ${MAX_CARDS} of ${integer(devices.length)}`
          }
          onShow={() => {
            all.value = true;
          }}
        />
      )}
      {hidden > 0 && all.value && isView("sql") && (
        <a class="go" href={formatHash({ ...page.value, view: "sql", sql })}>
          {counted(hidden, "more device")} in SQL
        </a>
      )}
    </div>
  );
}
