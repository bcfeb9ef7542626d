// Three facts about what is under the pointer. Details belong in the inspector.
import { signal } from "@preact/signals";
import { getJson } from "../../../api/client";
import type { Allocation } from "../../../api/contract";
import { frozen } from "../../../api/frozen";
import { NO_ID, QuadFlag } from "../../../api/tile";
import { place, session } from "../../../state/page/store";
import { counted, integer } from "../../../text/units";
import { Bytes, FrameLabel, Name } from "../../../ui/text";
import { Tip } from "../../../ui/tip";
import type { Under } from "../input/pick";

interface Shown {
  /** where the block belongs, if not to the file that the page shows */
  file?: number;
  under: Under;
  x: number;
  y: number;
}

export const tip = signal<Shown | null>(null);

const KEPT = 400;
const known = new Map<string, Allocation>();
const details = signal<Allocation | null>(null);
/** a block of which an exported page holds no details */
const undescribed = signal<number | null>(null);
let timer = 0;
let asked = "";

/** Shows what is known at once; the rest is requested when the pointer rests. */
export function showTip(next: Shown | null): void {
  tip.value = next;
  const quad = next?.under.quad;
  if (!quad || quad.id === NO_ID) {
    details.value = null;
    asked = "";
    return;
  }
  const file = next.file ?? place.value?.file ?? 0;
  // the numbers of allocations belong to one reading of a recording that grows
  const gen = session.peek()?.files.find((one) => one.id === file)?.gen ?? 0;
  const key = `${file}/${gen}/${quad.id}`;
  details.value = known.get(key) ?? null;
  if (details.value || asked === key) return;
  asked = key;
  window.clearTimeout(timer);
  timer = window.setTimeout(() => void ask(key, file, quad.id), 40);
}

async function ask(key: string, file: number, id: number): Promise<void> {
  try {
    const found = await getJson<Allocation>("allocation", { file, id });
    known.set(key, found);
    const oldest = known.keys().next().value;
    if (known.size > KEPT && oldest !== undefined) known.delete(oldest);
    if (asked === key) details.value = found;
  } catch {
    // the tooltip stays with what the picture knows
    if (asked === key) asked = "";
    if (frozen !== null) undescribed.value = id;
  }
}

export function lifeText(of: Allocation): string {
  const start = of.alloc_step === null ? "before" : integer(of.alloc_step);
  return `${start} – ${of.live_at_end ? "still live" : integer(of.last_step)}`;
}

const PROVENANCE = [
  "Allocation",
  "Older than the recording",
  "Overwritten in the ring buffer",
  "Older than the recording",
];

function title(under: Under): string {
  const { quad } = under;
  if (!quad) return "";
  if ((quad.flags & QuadFlag.merged) !== 0) return counted(quad.firstStep, "small block");
  const category = details.value?.category;
  return quad.provenance === 0 && category
    ? category
    : (PROVENANCE[quad.provenance] ?? "Allocation");
}

export function Tooltip() {
  const now = tip.value;
  const quad = now?.under.quad;
  if (!now || !quad) return null;
  const merged = (quad.flags & QuadFlag.merged) !== 0;
  const more = details.value;
  const frame = more?.stack ? more.label : "";
  const tensor = merged ? undefined : more?.tensors?.rows[0];
  return (
    <Tip x={now.x} y={now.y}>
      <div class="t">
        <i class={`sw cat${quad.provenance === 0 ? quad.stackSlot : 9}`} />
        <Name text={title(now.under)} />
        <Bytes value={more && !merged ? more.block_bytes : quad.high - quad.low} />
      </div>
      <dl>
        {!merged && (
          <>
            <dt>Life</dt>
            <dd>
              {more ? lifeText(more) : undescribed.value === quad.id ? "not in this page" : "…"}
            </dd>
            {(quad.flags & QuadFlag.pending) !== 0 && (
              <>
                <dt>State</dt>
                <dd>freed, still in use on another stream</dd>
              </>
            )}
          </>
        )}
        {!Number.isNaN(now.under.step) && (
          <>
            <dt>Step</dt>
            <dd>{integer(now.under.step)}</dd>
          </>
        )}
        {Number.isNaN(now.under.activeBytes) ? (
          <>
            <dt>Address</dt>
            <dd class="mono">{more?.address ?? "…"}</dd>
          </>
        ) : (
          <>
            <dt>Live after the step</dt>
            <dd>
              <Bytes value={now.under.activeBytes} />
            </dd>
          </>
        )}
      </dl>
      {tensor && (
        <span class="fn cut">
          <Name text={tensor.name} /> <span class="fi">{tensor.shape}</span>
        </span>
      )}
      {frame !== "" && <FrameLabel label={frame} />}
    </Tip>
  );
}
