// A recording that is being written: its state, and a button that pauses the page.
import { pause, paused, recording } from "../state/page/recordings";
import { Icon } from "../ui/icons";
import { pillWords } from "./recording_words";

export function RecordingPill() {
  const of = recording.value;
  if (of === null || of.quiet) return null;
  const words = pillWords(of, paused.value);
  const mayPause = of.state === "recording" && of.error === null;
  return (
    <span class={`recording ${words.look}`} title={words.title} role="status">
      <i class="dot" aria-hidden="true" />
      <b class="strong">{words.head}</b>
      <span class="faint opt">{words.rest}</span>
      {mayPause && (
        <button
          type="button"
          class="iconbtn"
          aria-label={paused.value ? "Follow the recording" : "Pause: keep what is shown"}
          title={paused.value ? "Follow again" : "Pause"}
          onClick={() => pause(!paused.value)}
        >
          <Icon name={paused.value ? "play" : "pause"} />
        </button>
      )}
    </span>
  );
}
