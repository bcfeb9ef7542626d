// Steps or time below a picture; where there is no time, why.
import type { Axis } from "../../../state/link/url";
import { device, page } from "../../../state/page/store";
import { domainOf, noTimeBecause } from "../../../state/recording/domain";
import { Switch } from "../../../ui/switch";

interface AxisSwitchProps {
  onOther: (axis: Axis) => void;
  class?: string;
}

export function AxisSwitch({ onOther, class: extra }: AxisSwitchProps) {
  const of = device.value;
  // what is drawn, whatever the link says
  const now: Axis = of === null ? "step" : domainOf(of, page.value.axis).axis;
  const because = of === null ? null : noTimeBecause(of);
  const title = because === null ? "Time since the first event" : `No axis of time: ${because}`;
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
