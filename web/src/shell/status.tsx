// The bottom line: the identities of the file, the step under the cursor, how the picture is drawn.
import { frozen } from "../api/frozen";
import { formatHash } from "../state/link/url";
import {
  device,
  drawnBy,
  hoverStep,
  overview,
  page,
  resolution,
  tileMs,
} from "../state/page/store";
import { bytesText, counted, integer, seconds } from "../text/units";
import { Icon } from "../ui/icons";

/** Views whose pictures come in tiles. */
const PAINTED: readonly string[] = ["timeline", "lanes", "map"];
const FIRST: readonly string[] = ["drawn", "reserved"];

export function Status() {
  const identities = overview.value.data?.identities ?? [];
  // the two that answer "where is it all"; any that is broken; the others behind a number
  const shown = identities.filter((one) => !one.holds || FIRST.includes(one.name));
  const rest = identities.filter((one) => !shown.includes(one));
  const hover = hoverStep.value;
  const start = device.value?.first_time_us ?? null;
  const issues = formatHash({ ...page.value, view: "overview" });
  return (
    <footer class="status">
      {overview.value.data === null && overview.value.error === null && device.value !== null && (
        <span class="faint">checking the sums of this device…</span>
      )}
      {shown.map((identity, index) => (
        <span key={identity.name} class={index > 0 ? "opt" : ""} title={identity.text}>
          {index > 0 && <i class="sep" />}
          {identity.holds ? <Icon name="check" class="okc" /> : <Icon name="alert" />}
          {identity.holds ? (
            <span class="cut">{identity.text}</span>
          ) : (
            <a href={issues}>{identity.text}</a>
          )}
        </span>
      ))}
      {rest.length > 0 && (
        <span class="opt" title={rest.map((one) => one.text).join("\n")}>
          <i class="sep" />
          <Icon name="check" class="okc" />
          {rest.length} more
        </span>
      )}
      <span class="spacer" />
      {hover && (
        <span>
          step {integer(hover.step)}
          {hover.time_us !== null && start !== null && ` · ${seconds(hover.time_us - start)}`}
        </span>
      )}
      {PAINTED.includes(page.value.view) && drawnBy.value !== "" && (
        <span class="opt">{drawnBy.value}</span>
      )}
      {frozen !== null && page.value.view === "timeline" && resolution.value && (
        <span title="This page has less detail than the recording">
          exact to {counted(resolution.value.steps, "step")}, blocks from{" "}
          {bytesText(resolution.value.bytes)}
        </span>
      )}
      {frozen === null && page.value.view === "timeline" && resolution.value && (
        <span
          class="opt"
          title="Smaller blocks are drawn together as thin lines; zoom in to separate them"
        >
          blocks from {bytesText(Math.ceil(resolution.value.bytes))}
        </span>
      )}
      {frozen === null && PAINTED.includes(page.value.view) && tileMs.value !== null && (
        <span class="opt">tile {Math.max(1, Math.round(tileMs.value))} ms</span>
      )}
    </footer>
  );
}
