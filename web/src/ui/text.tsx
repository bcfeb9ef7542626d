// Small pieces of text that occur everywhere: sizes, frames, sentences.
import type { Part } from "../api/contract";
import { baseName, formatBytes, integer, type Quantity } from "./units";

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

/** "loss.py:30 log_softmax": file and line recede, the function stands out. */
export function FrameLabel({ label, caller = "" }: { label: string; caller?: string }) {
  return (
    <span class="fn cut" title={caller === "" ? label : `${label}, called by ${caller}`}>
      <FrameText label={label} />
      {caller !== "" && (
        <span class="fi">
          {" ‹ "}
          {caller.split(" ")[0]}
        </span>
      )}
    </span>
  );
}

function FrameText({ label }: { label: string }) {
  const parts = /^(\S+):(\d+) (.*)$/s.exec(label);
  if (!parts) return <>{label}</>;
  return (
    <>
      <span class="fi">{baseName(parts[1] ?? "")}</span>
      <span class="ln">:{parts[2]}</span> {parts[3]}
    </>
  );
}

export function Parts({ parts }: { parts: readonly Part[] }) {
  return (
    <>
      {parts.map((part, index) => {
        const key = `${index}`;
        if (part.style === "strong") return <b key={key}>{part.text}</b>;
        if (part.style === "code") {
          return (
            <span key={key} class="fn">
              <FrameText label={part.text} />
            </span>
          );
        }
        return <span key={key}>{part.text}</span>;
      })}
    </>
  );
}
