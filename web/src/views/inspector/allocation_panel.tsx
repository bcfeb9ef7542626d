// One allocation: its life, size, place and stack.

import { useSignalEffect } from "@preact/signals";
import { useCallback, useMemo } from "preact/hooks";
import type { Allocation } from "../../api/contract";
import { deviceLines, wantDeviceLines } from "../../state/answers/device_lines";
import { formatHash } from "../../state/link/url";
import { device, file, isView, page } from "../../state/page/store";
import { counted, duration, integer, seconds } from "../../text/units";
import { visible } from "../../text/visible";
import { Canvas } from "../../ui/canvas";
import { type Surface, vertical } from "../../ui/plot";
import { Bytes, ExactBytes, Name } from "../../ui/text";
import { PanelHead } from "./panel_head";
import { SeeIn } from "./see_in";
import { StackList } from "./stack_list";
import { TensorList, tensorName } from "./tensor_list";

const PROVENANCE: Record<string, string> = {
  traced: "traced",
  before_recording: "older than the recording",
  lost: "one end overwritten in the ring buffer",
  ghost: "older, known from the final state",
};

function Time({ us }: { us: number | null }) {
  const start = device.value?.first_time_us ?? null;
  if (us === null || start === null) return null;
  return <span class="u">{seconds(us - start)}</span>;
}

function Step({ step, us }: { step: number; us: number | null }) {
  return (
    <span class="num">
      step {integer(step)}
      <Time us={us} />
    </span>
  );
}

function heldFor(of: Allocation): { steps: number; us: number | null } {
  const end = of.live_at_end ? (device.value?.last_time_us ?? null) : of.free_time_us;
  const us = end !== null && of.alloc_time_us !== null ? end - of.alloc_time_us : null;
  return { steps: of.last_step - of.first_step, us };
}

function Life({ of }: { of: Allocation }) {
  const held = heldFor(of);
  return (
    <section>
      <h3>Life</h3>
      <LifeSpark of={of} />
      <dl class="kv">
        <dt>Allocated</dt>
        <dd>
          {of.alloc_step === null ? (
            "before the recording"
          ) : (
            <Step step={of.alloc_step} us={of.alloc_time_us} />
          )}
        </dd>
        {of.free_requested_step !== null && of.free_requested_step !== of.free_completed_step && (
          <>
            <dt>Free requested</dt>
            <dd class="num">step {integer(of.free_requested_step)}</dd>
          </>
        )}
        <dt>Freed</dt>
        <dd>
          {of.live_at_end ? (
            "not in this recording"
          ) : (
            <Step step={of.free_completed_step ?? of.last_step} us={of.free_time_us} />
          )}
        </dd>
        <dt>Held for</dt>
        <dd class="num">
          {counted(held.steps, "step")}
          {held.us !== null && <span class="u">{duration(held.us)}</span>}
        </dd>
      </dl>
    </section>
  );
}

/** The device's live bytes, faint, and the life as a bar under it. */
function LifeSpark({ of }: { of: Allocation }) {
  useSignalEffect(wantDeviceLines);
  const { data } = deviceLines.value;
  const dev = device.value;
  const marks = useMemo(() => dev?.ooms.map((oom) => oom.step) ?? [], [dev]);
  const draw = useCallback(
    (s: Surface) => {
      const steps = Math.max(1, dev?.events ?? 1);
      const toX = (step: number) => (step / steps) * s.width;
      const top = Math.max(1, ...(data?.activeMax ?? []).filter((one) => !Number.isNaN(one)));
      s.c.fillStyle = s.token("accent-weak");
      s.c.beginPath();
      s.c.moveTo(0, s.height);
      data?.activeMax.forEach((bytes, i) => {
        const x = (i / data.columns) * s.width;
        if (!Number.isNaN(bytes)) s.c.lineTo(x, s.height - (bytes / top) * (s.height - 1));
      });
      s.c.lineTo(s.width, s.height);
      s.c.fill();
      const slot = of.provenance === "traced" ? of.slot : 9;
      s.c.fillStyle = slot >= 1 ? s.token(`cat-${slot}`) : s.token("ink-3");
      const width = Math.max(2, toX(of.last_step) - toX(of.first_step));
      s.c.fillRect(Math.min(s.width - 2, toX(of.first_step)), s.height - 5, width, 5);
      for (const step of marks)
        vertical(s, Math.min(s.width - 1, toX(step)), 0, s.height, s.token("danger"));
    },
    [data, dev, marks, of],
  );
  return (
    <div class="life">
      <Canvas
        label={`Live from step ${integer(of.first_step)} to ${of.live_at_end ? "the end" : integer(of.last_step)}`}
        draw={draw}
      />
    </div>
  );
}

function Place({ of }: { of: Allocation }) {
  return (
    <section>
      <h3>Size and place</h3>
      <dl class="kv">
        <dt>Requested</dt>
        <dd>
          {of.requested_bytes === null ? (
            <span title="PyTorch rounds pinned memory up to a power of two and records only the result">
              unknown: <Bytes value={of.requested_least_bytes - 1} /> to{" "}
              <Bytes value={of.requested_most_bytes} />
            </span>
          ) : (
            <ExactBytes value={of.requested_bytes} />
          )}
        </dd>
        <dt>Block</dt>
        <dd
          title={of.block_inferred ? "computed: the file does not state it" : "as the file states"}
        >
          <ExactBytes value={of.block_bytes} />
          {of.block_inferred && <span class="u">inferred</span>}
        </dd>
        <dt>Address</dt>
        <dd class="mono">{of.address}</dd>
        <dt>Segment</dt>
        <dd>
          {of.segment ? (
            <span class="mono" title={`${of.segment.kind} segment`}>
              {of.segment.address_id}
            </span>
          ) : (
            "–"
          )}
          {of.segment && (
            <span class="u">
              <Bytes value={of.segment.total_bytes} />
            </span>
          )}
        </dd>
        <dt>Stream, pool</dt>
        <dd title={visible(`stream ${of.stream.raw}`)}>
          {of.stream.id} · {of.pool ? <Name text={of.pool.text} /> : "–"}
        </dd>
        <dt>Provenance</dt>
        <dd>{PROVENANCE[of.provenance] ?? of.provenance}</dd>
        {of.category && (
          <>
            <dt>Category</dt>
            <dd>
              <Name text={of.category} />
            </dd>
          </>
        )}
        {of.compile_context && of.compile_context !== "N/A" && (
          <>
            <dt>Compiled</dt>
            <dd class="mono" title={visible(of.compile_context)}>
              <Name text={of.compile_context} />
            </dd>
          </>
        )}
      </dl>
      {of.metadata && (
        <p class="mono metadata">
          <Name text={of.metadata} />
        </p>
      )}
    </section>
  );
}

function Siblings({ of }: { of: Allocation }) {
  if (!of.stack) return null;
  const sql = `SELECT *\nFROM allocations\nWHERE stack_id = ${of.stack.id}\nORDER BY first_step`;
  return (
    <section>
      <h3>
        Same stack
        {isView("sql") && (
          <a href={formatHash({ ...page.value, view: "sql", sql, mark: "sql" })}>List</a>
        )}
      </h3>
      <dl class="kv">
        <dt>Live at the end</dt>
        <dd class="num">
          {integer(of.siblings.live_at_end_count)}
          <span class="u">
            <Bytes value={of.siblings.live_at_end_bytes} />
          </span>
        </dd>
        <dt>In the whole recording</dt>
        <dd class="num">
          {integer(of.siblings.count)}
          <span class="u">
            <Bytes value={of.siblings.bytes} />
          </span>
        </dd>
      </dl>
    </section>
  );
}

/** A selection of another device is not in the picture: the way there. */
function Elsewhere({ of }: { of: Allocation }) {
  if (of.device === device.value?.ordinal) return null;
  const there = file.value?.devices.find((one) => one.ordinal === of.device);
  const href = formatHash({ ...page.value, device: of.device, x: null, y: null, at: null });
  return (
    <div class="id">
      on <a href={href}>{there?.label ?? `device ${of.device}`}</a>, not on{" "}
      {device.value?.label ?? "this device"}
    </div>
  );
}

export function AllocationPanel({ of }: { of: Allocation }) {
  const slot = of.provenance === "traced" ? of.slot : 9;
  return (
    <div class="ins">
      <PanelHead
        kind={
          <>
            <i class={`sw cat${slot}`} />
            Allocation
            {of.category && (
              <span class="faint">
                · <Name text={of.category} />
              </span>
            )}
          </>
        }
        clears={{ sel: null }}
      >
        <h2 class="big">
          <Bytes value={of.block_bytes} />
        </h2>
        {tensorName(of) !== "" && (
          <div class="id strong cut" title={visible(tensorName(of))}>
            <Name text={tensorName(of)} />
          </div>
        )}
        <div class="id mono">{of.address_id}</div>
        <Elsewhere of={of} />
      </PanelHead>
      <TensorList of={of} />
      <Life of={of} />
      <Place of={of} />
      <StackList stack={of.stack} ofFree={of.stack_is_of_free} />
      <Siblings of={of} />
      <SeeIn of={of} />
    </div>
  );
}
