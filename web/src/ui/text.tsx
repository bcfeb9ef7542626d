// Small pieces of text that occur everywhere: sizes, names, frames, sentences.
import type { Part } from "../api/contract";
import { behindLabel, shortCaller } from "../text/callers";
import { baseName, formatBytes, integer, type Quantity } from "../text/units";
import { visible } from "../text/visible";

export function Amount({ quantity }: { quantity: Quantity }) {
  return (
    <span class="num">
      {quantity.number}
      <span class="u">{quantity.unit}</span>
    </span>
  );
}

export function Bytes({ value }: { value: number }) {
  return <Amount quantity={formatBytes(value)} />;
}

export function ExactBytes({ value }: { value: number }) {
  return <Amount quantity={{ number: integer(value), unit: "B" }} />;
}

/** A name from a file: nothing in it is hidden, and it turns round nothing beside it. */
export function Name({ text }: { text: string }) {
  return <bdi>{visible(text)}</bdi>;
}

interface FrameLabelProps {
  label: string;
  caller?: string;
  /** what is shown of the caller, if its line is not enough: see callers.ts */
  telling?: string;
}

/** "loss.py:30 log_softmax": file and line recede, the function stands out. */
export function FrameLabel({ label, caller = "", telling }: FrameLabelProps) {
  const title = label + behindLabel(caller);
  const shown = telling ?? shortCaller(caller);
  return (
    <span class="fn cut" title={visible(title)}>
      <FrameText label={label} />
      {shown !== "" && (
        <span class="fi">
          <Name text={behindLabel(shown)} />
        </span>
      )}
    </span>
  );
}

export function FrameText({ label }: { label: string }) {
  const parts = /^(\S+):(\d+) (.*)$/s.exec(label);
  if (!parts) return <Name text={label} />;
  return (
    <>
      <span class="fi">
        <Name text={baseName(parts[1] ?? "")} />
      </span>
      <span class="ln">:{parts[2]}</span> <Name text={parts[3] ?? ""} />
    </>
  );
}

export function Parts({ parts }: { parts: readonly Part[] }) {
  return (
    <>
      {parts.map((part, index) => {
        const key = `${index}`;
        if (part.style === "strong") {
          return (
            <b key={key}>
              <Name text={part.text} />
            </b>
          );
        }
        if (part.style === "code") {
          return (
            <span key={key} class="fn">
              <FrameText label={part.text} />
            </span>
          );
        }
        return <span key={key}>{visible(part.text)}</span>;
      })}
    </>
  );
}
