// A file that opened and holds no memory: what it is, why there is nothing, what still works.
import type { FileInfo } from "../api/contract";
import { formatHash } from "../state/link/url";
import { recording } from "../state/page/recordings";
import { isView, page } from "../state/page/store";
import { bytesText, counted } from "../text/units";
import { Notice, RECORD_CODE } from "../ui/notice";
import { Name } from "../ui/text";

export function NothingThere({ of }: { of: FileInfo }) {
  if (recording.value?.state === "recording") {
    return (
      <div class="center">
        <Notice icon="overview" title="Nothing was recorded yet">
          <p>The recorder runs. What the program does with GPU memory appears here by itself.</p>
        </Notice>
      </div>
    );
  }
  const sql = "SELECT *\nFROM issues";
  const href = formatHash({ ...page.value, view: "sql", sql });
  return (
    <div class="center">
      <Notice
        icon="overview"
        title="This file holds no memory"
        code={RECORD_CODE}
        actions={
          of.issues > 0 &&
          isView("sql") && (
            <a class="btn" href={href}>
              {counted(of.issues, "oddity", "oddities")} of the file
            </a>
          )
        }
      >
        <p>
          <Name text={of.name} /> was read to its end: {of.format}, {bytesText(of.data_bytes)},{" "}
          {counted(of.events, "event")}, no device, no segment. The process had not used a GPU when
          it was written, or nothing was recorded. Record while the memory is in use:
        </p>
      </Notice>
    </div>
  );
}
