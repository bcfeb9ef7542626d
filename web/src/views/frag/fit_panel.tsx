// Stranded bytes by the size of a request, and a slider for one: would it fit after this step?
import { useCallback } from "preact/hooks";
import { dragged, fit, frag, fragAt, request } from "../../state/answers/frag";
import { formatHash } from "../../state/link/url";
import { cursorStep } from "../../state/page/cursor";
import { device, go, page } from "../../state/page/store";
import { worstOom } from "../../state/recording/ooms";
import { bytesText, formatBytes } from "../../text/units";
import { Canvas } from "../../ui/canvas";
import type { Surface } from "../../ui/plot";
import { Amount } from "../../ui/text";
import { bytesOfPower, MIN_POWER, mostPower, verdictOf } from "./model";
import { drawStranded } from "./plots";

export function FitPanel() {
  const data = fragAt.value.data;
  const asked = fit.value.data;
  const bytes = request.value;
  const oom = worstOom(device.value?.ooms ?? [])?.requested_bytes ?? null;
  // room beyond the request that failed, so that its line does not end the picture
  const power = mostPower(data?.now.free_bytes, oom && oom * 2, bytes, 2 ** 26);
  const draw = useCallback(
    (s: Surface) => {
      if (!data) return;
      const stranded = asked?.request_bytes === bytes ? asked.stranded_bytes : 0;
      drawStranded(s, { data, request: bytes, stranded, power, oom });
    },
    [data, asked, bytes, power, oom],
  );
  const pool = frag.value.data?.pool;
  const verdict = asked && pool ? verdictOf(asked, pool) : null;
  const settle = () => {
    if (dragged.peek() !== null) go({ fit: dragged.peek() });
    dragged.value = null;
  };
  return (
    <div class="fragright">
      <div class="phead">
        <h2>Stranded bytes by request size</h2>
        <span
          class="note cut"
          title="The fit test below also considers pools, size classes and split limits"
        >
          holes only
        </span>
      </div>
      <div class="plot fragcurve">
        <Canvas
          label={`Free bytes that cannot serve a request, by its size, up to ${bytesText(data?.now.free_bytes ?? 0)}`}
          draw={draw}
        />
      </div>
      <label class="fitline">
        <span>Would it fit?</span>
        <input
          type="range"
          id="fit"
          min={MIN_POWER}
          max={power}
          step={0.05}
          value={Math.log2(bytes)}
          aria-valuetext={bytesText(bytes)}
          onInput={(event) => {
            dragged.value = bytesOfPower(Number(event.currentTarget.value));
          }}
          onChange={settle}
        />
        <span class="r">
          <Amount quantity={formatBytes(bytes)} />
        </span>
      </label>
      <p class="fitres" role="status">
        {verdict && asked && (
          <>
            A request of <b>{bytesText(asked.request_bytes)}</b> {verdict.text} {verdict.rest}{" "}
            <a href={formatHash({ ...page.value, view: "state", at: cursorStep.value })}>State</a>
          </>
        )}
      </p>
    </div>
  );
}
