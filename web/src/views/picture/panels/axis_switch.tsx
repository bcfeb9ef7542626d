// The switch between steps and time, and why a device has no time axis.
import type { Axis } from "../../../state/link/url";
import { addNotes } from "../../../state/page/notes";
import { device, page } from "../../../state/page/store";
import { domainOf, noTimeBecause } from "../../../state/recording/domain";
import { Switch } from "../../../ui/switch";

/** For the key that changes the axis: says why if there is no time axis. */
export function withTimeAxis(change: () => void): void {
  if (!device.value) return;
  const because = noTimeBecause(device.value);
  if (because === null) change();
  else addNotes(`There is no time axis: ${because}.`);
}

interface AxisSwitchProps {
  onOther: (axis: Axis) => void;
  class?: string;
}

export function AxisSwitch({ onOther, class: extra }: AxisSwitchProps) {
  const of = device.value;
  // what is drawn, whatever the link says
  const now: Axis = of === null ? "step" : domainOf(of, page.value.axis).axis;
  const because = of === null ? null : noTimeBecause(of);
  const title = because === null ? "Time since the first event" : `No time axis: ${because}`;
  return (
    <Switch
      label="Horizontal axis"
      options={[
        { key: "step", text: "Step" },
        { key: "time", text: "Time", title, disabled: because !== null },
      ]}
      chosen={now}
      onChoose={(axis: Axis) => axis !== now && onOther(axis)}
      {...(extra === undefined ? {} : { class: extra })}
    />
  );
}
