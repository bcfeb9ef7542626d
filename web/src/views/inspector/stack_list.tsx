// A stack, innermost frame first, with the frames of the framework folded into one line.
import { useSignal } from "@preact/signals";
import type { Frame, Stack } from "../../api/contract";
import { baseName, counted } from "../../ui/units";
import { foldNoise } from "./fold";

export function frameText(frame: Frame): string {
  const place = frame.file === "" ? "" : `${frame.file}:${frame.line} `;
  return `${place}${frame.function}`;
}

function FrameRow({ frame, hot }: { frame: Frame; hot: boolean }) {
  return (
    <li
      class={hot ? "hot" : ""}
      title={`${frameText(frame)}${frame.note === "" ? "" : `\n${frame.note}`}`}
    >
      <span class="cut fn">
        {frame.file !== "" && (
          <>
            <span class="fi">{baseName(frame.file)}</span>
            <span class="ln">:{frame.line}</span>{" "}
          </>
        )}
        {frame.function}
      </span>
      {frame.repeat > 1 && <span class="faint num">× {frame.repeat}</span>}
    </li>
  );
}

export function StackList({ stack, ofFree }: { stack: Stack | null; ofFree: boolean }) {
  const open = useSignal<ReadonlySet<number>>(new Set());
  const copied = useSignal(false);
  if (!stack || stack.frames.length === 0) {
    return (
      <section>
        <h3>Stack</h3>
        <p class="dim">None was recorded.</p>
      </section>
    );
  }
  const hot = stack.frames.find((frame) => frame.user);
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
        <p class="dim t12">The allocation is older than the recording; this is who freed it.</p>
      )}
      <ol class="stack">
        {foldNoise(stack.frames).map((group) =>
          group.folded && !open.value.has(group.start) ? (
            <li key={group.start} class="fold">
              <button
                type="button"
                aria-expanded={false}
                onClick={() => {
                  open.value = new Set([...open.value, group.start]);
                }}
              >
                <span>{counted(group.frames.length, "frame")} of the framework</span>
                <span>show</span>
              </button>
            </li>
          ) : (
            group.frames.map((frame, i) => (
              <FrameRow key={`${group.start + i}`} frame={frame} hot={frame === hot} />
            ))
          ),
        )}
      </ol>
    </section>
  );
}
