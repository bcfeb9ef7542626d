// The head of the map: what the colours mean, and both axes.

import { HUES, type Hue } from "../../api/map";
import { rampOf } from "../../gl/map_painter";
import { device, go, page } from "../../state/page/store";
import { bytesText, counted } from "../../text/units";
import { Menu } from "../../ui/menu";
import { Switch } from "../../ui/switch";
import { AxisSwitch } from "../picture/panels/axis_switch";
import { MarkChip } from "../picture/panels/mark_chip";
import { ranges } from "./feed";

function Ramp({
  name,
  steps,
  from,
  to,
}: {
  name: string;
  steps: number;
  from: string;
  to: string;
}) {
  return (
    <span
      class="ramp opt"
      role="img"
      aria-label={
        from === "" ? "Live at an out-of-memory event, by size" : `Size, ${from} to ${to}`
      }
    >
      {from}
      <span class="cells">
        {Array.from({ length: steps }, (_, i) => (
          <i key={`${i + 1}`} class={`sw-${name}${i + 1}`} />
        ))}
      </span>
      {to}
    </span>
  );
}

const PLACES = [
  {
    key: "owned",
    text: "Reserved",
    title: "Only addresses that were ever reserved; gaps are marked",
  },
  {
    key: "whole",
    text: "Whole span",
    title: "All addresses from the lowest to the highest",
  },
] as const;

export function MapHead({ onFit }: { onFit: () => void }) {
  const { hue, red, whole } = page.value;
  const of = ranges.value.data;
  const dev = device.value;
  const [least, most] = rampOf(of?.axis_bytes ?? 0).map((log2) => bytesText(2 ** log2)) as [
    string,
    string,
  ];
  const ooms = dev?.ooms.length ?? 0;
  return (
    <header class="viewhead">
      <h1>Map</h1>
      <span class="sub cut" title="Addresses over time: where each allocation was during its life">
        {of &&
          `${counted(of.total, "range")}, ${bytesText(of.axis_bytes)}${whole ? "" : " reserved"}`}
      </span>
      <MarkChip />
      {hue === "size" && <Ramp name="size" steps={7} from={least} to={most} />}
      {red && ooms > 0 && <Ramp name="oomr" steps={6} from="" to="" />}
      {ooms > 0 && (
        <button
          type="button"
          class="btn opt"
          aria-pressed={red}
          title="Show memory that was live at an out-of-memory event in red  r"
          onClick={() => go({ red: !red })}
        >
          <i class="sw sw-oomr4" />
          Live at the OOM
        </button>
      )}
      <Menu
        label={`Colour by ${hue}`}
        class="pick"
        items={HUES.map((key) => ({ key, label: key }))}
        chosen={hue}
        onChoose={(key) => go({ hue: key as Hue })}
      >
        <span class="k opt">Colour</span>
        {hue}
      </Menu>
      <Switch
        label="Address axis"
        options={PLACES}
        chosen={whole ? "whole" : "owned"}
        onChoose={(key) => (key === "whole") !== whole && go({ whole: !whole, ay: null })}
      />
      <AxisSwitch class="roomy" onOther={(axis) => go({ axis, x: null })} />
      <button type="button" class="btn quiet" title="Fit  f" onClick={onFit}>
        Fit <kbd class="opt">f</kbd>
      </button>
    </header>
  );
}
