// What happened at the cursor's step, and what was live after it.
import type { StateAt } from "../../api/contract";
import { frozen } from "../../api/frozen";
import { cursorStep } from "../../state/page/cursor";
import { device, go } from "../../state/page/store";
import { integer, seconds } from "../../text/units";
import { Bytes, ExactBytes, Name } from "../../ui/text";
import { focusPicture } from "../picture/input/choose";
import { PanelHead } from "./panel_head";
import { StackList } from "./stack_list";

const ACTIONS: Record<string, string> = {
  alloc: "Allocation",
  free: "Free",
  free_requested: "Free requested",
  free_completed: "Free completed",
  segment_alloc: "Segment allocated",
  segment_free: "Segment returned to the driver",
  segment_map: "Pages mapped",
  segment_unmap: "Pages unmapped",
  oom: "Out of memory",
  snapshot: "Snapshot",
};

/** the outermost say where the program was; hostile files nest thousands */
const MAX_PHASES = 12;

/** Where the cursor is before anybody puts it. */
function unchosen(): string {
  if (device.value?.ooms.length) return "At the out-of-memory";
  return device.value?.peak.active.at_start ? "First step" : "At the peak";
}

export function StepPanel({ of, chosen }: { of: StateAt; chosen: boolean }) {
  const start = device.value?.first_time_us ?? null;
  const { event, totals, by_provenance: parts } = of;
  const subject = event?.allocation_id ?? null;
  return (
    <div class="ins">
      <PanelHead
        kind={chosen ? "Cursor" : unchosen()}
        clears={chosen ? { at: null } : undefined}
        label="Clear the cursor"
      >
        <h2 class="big">step {integer(of.step)}</h2>
        <div class="id">
          {of.time_us !== null && start !== null ? seconds(of.time_us - start) : "no time recorded"}
        </div>
        {of.step !== cursorStep.value && frozen !== null && (
          <p class="dim t12">
            The nearest step that this page describes; the cursor is at {integer(cursorStep.value)}.
          </p>
        )}
      </PanelHead>
      <section>
        <h3>Live after this step</h3>
        <dl class="kv">
          <dt>Active</dt>
          <dd>
            <Bytes value={totals.active_bytes} />
          </dd>
          <dt>Requested</dt>
          <dd>
            {totals.requested_bytes === null ? "unknown" : <Bytes value={totals.requested_bytes} />}
          </dd>
          <dt>Reserved</dt>
          <dd>
            <Bytes value={totals.reserved_bytes} />
          </dd>
          <dt>Free in segments</dt>
          <dd>
            <Bytes value={Math.max(0, totals.reserved_bytes - totals.active_bytes)} />
          </dd>
        </dl>
      </section>
      <section>
        <h3>Provenance</h3>
        <dl class="kv">
          <dt>Traced</dt>
          <dd>
            <Bytes value={parts.traced_bytes} />
          </dd>
          <dt>Older than the recording</dt>
          <dd>
            <Bytes value={parts.older_bytes} />
          </dd>
          <dt>Lost</dt>
          <dd>
            <Bytes value={parts.lost_bytes} />
          </dd>
        </dl>
      </section>
      {event && (
        <section>
          <h3>
            Event
            {subject !== null && (
              <button
                type="button"
                onClick={() => {
                  go({ sel: subject });
                  focusPicture();
                }}
              >
                Select
              </button>
            )}
          </h3>
          <dl class="kv">
            <dt>Action</dt>
            <dd class={event.action === "oom" ? "danger" : ""}>
              {ACTIONS[event.action] ?? <Name text={event.action} />}
            </dd>
            <dt>Size</dt>
            <dd>
              {event.size_bytes === null ? "unknown" : <ExactBytes value={event.size_bytes} />}
            </dd>
            {event.address !== null && (
              <>
                <dt>Address</dt>
                <dd class="mono">{event.address}</dd>
              </>
            )}
          </dl>
          {event.metadata && (
            <p class="mono metadata">
              <Name text={event.metadata} />
            </p>
          )}
        </section>
      )}
      {of.annotations.length > 0 && (
        <section>
          <h3>Phase</h3>
          <ol class="stack">
            {of.annotations.slice(0, MAX_PHASES).map((name, i) => (
              <li key={`${i} ${name}`}>
                <span class="cut">
                  <Name text={name} />
                </span>
              </li>
            ))}
          </ol>
          {of.annotations_total > MAX_PHASES && (
            <p class="dim t12">and {integer(of.annotations_total - MAX_PHASES)} more nested</p>
          )}
        </section>
      )}
      {event && <StackList stack={event.stack} ofFree={false} />}
    </div>
  );
}
