// What is selected, or what happens at the cursor. The same in every view.

import { pickedFrame } from "../../state/answers/flame";
import { layout } from "../../state/answers/layout";
import { cursorStep, selection, stateAt } from "../../state/page/cursor";
import { device, go, page } from "../../state/page/store";
import { integer } from "../../text/units";
import { ErrorNotice } from "../../ui/notice";
import { FramePanel } from "../flame/frame_panel";
import { AllocationPanel } from "./allocation_panel";
import { SegmentPanel } from "./segment_panel";
import { StepPanel } from "./step_panel";

/** The data of the step's panel is requested after the data of the view. */
function waits(): boolean {
  const { sel, seg } = page.value;
  const { data, error } = stateAt.value;
  const wanted = sel === null && seg === null && (device.value?.events ?? 0) > 0;
  return wanted && !data && !error;
}

export function Inspector() {
  const { data, error } = selection.value;
  const segments = page.value.sel === null && page.value.seg !== null ? layout.value.data : null;
  if (page.value.view === "flame" && pickedFrame.value !== null) {
    return (
      <aside class="side" aria-label="Inspector">
        <FramePanel />
      </aside>
    );
  }
  return (
    <aside class="side" aria-label="Inspector">
      {error && (
        <div class="pad14">
          <ErrorNotice
            error={error}
            retry={() => go({ sel: null })}
            retryLabel="Clear the selection"
          />
        </div>
      )}
      {!error && page.value.sel !== null && data && <AllocationPanel of={data} />}
      {segments && <SegmentPanel data={segments} />}
      {page.value.sel === null && !segments && stateAt.value.data && (
        <StepPanel of={stateAt.value.data} chosen={page.value.at !== null} />
      )}
      {waits() && (
        <div class="ins" aria-busy="true">
          <header>
            <div class="kind">
              <span class="kindin">Inspector</span>
            </div>
            <h2 class="big">step {integer(cursorStep.value)}</h2>
            <p class="dim">Live memory appears once the view has loaded.</p>
          </header>
        </div>
      )}
      {page.value.sel === null && !segments && (device.value?.events ?? 0) === 0 && (
        <div class="ins">
          <section>
            <h3>Inspector</h3>
            <p class="dim">Nothing is selected.</p>
          </section>
        </div>
      )}
    </aside>
  );
}
