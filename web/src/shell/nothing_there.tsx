// A file that was read and contains no device memory: what it is, why, and what still works.
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
          <p>The recorder is running. The GPU memory of the program appears here automatically.</p>
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
        title="This file contains no device memory"
        code={RECORD_CODE}
        actions={
          of.issues > 0 &&
          isView("sql") && (
            <a class="btn" href={href}>
              {counted(of.issues, "import issue")}
            </a>
          )
        }
      >
        <p>
          <Name text={of.name} /> was read completely: {of.format}, {bytesText(of.data_bytes)},{" "}
          {counted(of.events, "event")}, no device, no segment. The process had not used a GPU when
          the file was written, or nothing was recorded. Record while the memory is in use:
        </p>
      </Notice>
    </div>
  );
}
