// A stack, innermost frame first, with the frames of the framework folded into one line.
import { useSignal } from "@preact/signals";
import type { Frame, Stack } from "../../api/contract";
import { baseName, counted } from "../../text/units";
import { visible, visibleLines } from "../../text/visible";
import { Name } from "../../ui/text";

/** of the forward pass, for memory of the backward pass; such frames follow the stack's own */
function isForward(frame: Frame): boolean {
  return frame.kind === "forward";
}

function frameText(frame: Frame): string {
  const place = frame.file === "" ? "" : `${frame.file}:${frame.line} `;
  return `${isForward(frame) ? "forward of " : ""}${place}${frame.function}`;
}

function FrameRow({ frame, hot }: { frame: Frame; hot: boolean }) {
  return (
    <li
      class={hot ? "hot" : ""}
      title={visibleLines(
        `${visible(frameText(frame))}${frame.note === "" ? "" : `\n${frame.note}`}`,
      )}
    >
      <span class="cut fn">
        {frame.file !== "" && frame.file !== "??" && (
          <>
            <span class="fi">
              <Name text={baseName(frame.file)} />
            </span>
            {frame.line > 0 && <span class="ln">:{frame.line}</span>}{" "}
          </>
        )}
        <Name text={frame.function} />
      </span>
      {isForward(frame) && frame.note !== "" && (
        <span class="cut code faint">
          <Name text={frame.note} />
        </span>
      )}
      {frame.repeat > 1 && <span class="faint num">× {frame.repeat}</span>}
    </li>
  );
}

/**
 * Frames of the runtime are many and say little: they fold into one line, where the first of them
 * stood. What stays: Python, the forward pass, and C++ only where there is no Python at all.
 */
interface Folded {
  /** frames to show, with their place in the stack */
  shown: { frame: Frame; index: number }[];
  hidden: number;
  /** how many shown frames stand before the line that says how many are hidden */
  before: number;
}

function isFramework(frame: Frame, hasPython: boolean): boolean {
  if (frame.user) return false;
  return frame.noise || (hasPython && frame.kind !== "python" && !isForward(frame));
}

/** A single hidden frame stays: a line that says "1 frame" is no shorter than the frame. */
export function foldNoise(frames: readonly Frame[]): Folded {
  const hasPython = frames.some((frame) => frame.kind === "python");
  const all = frames.map((frame, index) => ({ frame, index }));
  const shown = all.filter(({ frame }) => !isFramework(frame, hasPython));
  const hidden = frames.length - shown.length;
  if (hidden < 2 || shown.length === 0) return { shown: all, hidden: 0, before: 0 };
  const first = frames.findIndex((frame) => isFramework(frame, hasPython));
  return { shown, hidden, before: shown.filter(({ index }) => index < first).length };
}

/** no program nests so deep that more of them says more; hostile files have 20,000 */
const MAX_FRAMES = 200;

export function StackList({ stack, ofFree }: { stack: Stack | null; ofFree: boolean }) {
  const open = useSignal(false);
  const copied = useSignal(false);
  if (!stack || stack.frames.length === 0) {
    return (
      <section>
        <h3>Stack</h3>
        <p class="dim">No stack was recorded.</p>
      </section>
    );
  }
  const hot =
    stack.frames.find((frame) => frame.user && isForward(frame)) ??
    stack.frames.find((frame) => frame.user);
  const folded = foldNoise(stack.frames);
  const all = open.value ? stack.frames.map((frame, index) => ({ frame, index })) : folded.shown;
  const rows = all.slice(0, MAX_FRAMES);
  const before = open.value ? 0 : folded.before;
  const firstForward = rows.find(({ frame }) => isForward(frame))?.index;
  const row = ({ frame, index }: { frame: Frame; index: number }) => (
    <>
      {index === firstForward && (
        <li class="part" title="The forward pass that this backward pass belongs to">
          forward of
        </li>
      )}
      <FrameRow key={`${index}`} frame={frame} hot={frame === hot} />
    </>
  );
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(stack.frames.map(frameText).join("\n"));
      copied.value = true;
      window.setTimeout(() => {
        copied.value = false;
      }, 1500);
    } catch {
      // no clipboard here
    }
  };
  return (
    <section>
      <h3>
        {ofFree ? "Stack of the free" : "Stack"}
        <button type="button" onClick={() => void copy()}>
          {copied.value ? "Copied" : "Copy"}
        </button>
      </h3>
      {ofFree && (
        <p class="dim t12">The allocation is older than the recording; this stack freed it.</p>
      )}
      <ol class="stack">
        {rows.slice(0, before).map(row)}
        {folded.hidden > 0 && (
          <li class="fold">
            <button
              type="button"
              aria-expanded={open.value}
              onClick={() => {
                open.value = !open.value;
              }}
            >
              <span>{counted(folded.hidden, "frame")} of the framework</span>
              <span>{open.value ? "hide" : "show"}</span>
            </button>
          </li>
        )}
        {rows.slice(before).map(row)}
      </ol>
      {all.length > rows.length && (
        <p class="dim t12">
          and {counted(all.length - rows.length, "more frame")}; Copy copies all
        </p>
      )}
    </section>
  );
}
