// A file that is being read: a progress line, and the curve of what was read so far. The timeline
// takes its place when the file is open.
import { opening } from "../state/page/opening";
import { areaPath, heightText, readingText, shareRead } from "./opening_words";

export function OpeningFile() {
  const of = opening.value;
  if (of === null) {
    return (
      <div class="center">
        <div class="progress" role="progressbar" aria-label="Opening the file" />
      </div>
    );
  }
  const text = readingText(of);
  const percent = Math.round(shareRead(of) * 100);
  const height = heightText(of);
  const path = height === "" ? "" : areaPath(of);
  return (
    <div class="opening">
      <h1 aria-live="polite">{text}</h1>
      <div
        class="progress"
        role="progressbar"
        aria-label={text}
        aria-valuenow={percent}
        aria-valuemin={0}
        aria-valuemax={100}
      >
        <i style={`width:${percent}%`} />
      </div>
      {path !== "" && (
        <>
          <p class="dim">Memory that the events allocated: {height}</p>
          <svg viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden="true">
            <path d={path} />
          </svg>
        </>
      )}
    </div>
  );
}
