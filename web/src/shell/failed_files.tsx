// Files that were named on the command line and could not be read: which, why, and what to do.
import { useSignal } from "@preact/signals";
import type { FailedFile } from "../api/contract";
import { session } from "../state/page/store";
import { visible } from "../text/visible";
import { Icon } from "../ui/icons";
import { Name } from "../ui/text";

function Failed({ of }: { of: FailedFile }) {
  return (
    <li>
      <span class="mono">
        <Name text={of.path} />
      </span>{" "}
      was not read: {visible(of.what)}.{of.hint !== "" && ` ${visible(of.hint)}`}
    </li>
  );
}

export function FailedFiles() {
  const closed = useSignal(false);
  const failed = session.value?.failed ?? [];
  return (
    <div class="notesbar failed" role="status">
      {failed.length > 0 && !closed.value && (
        <>
          <Icon name="alert" />
          <ul>
            {failed.map((one, i) => (
              <Failed key={`${i} ${one.path}`} of={one} />
            ))}
          </ul>
          <button
            type="button"
            class="iconbtn"
            aria-label="Close the list of files that were not read"
            onClick={() => {
              closed.value = true;
            }}
          >
            <Icon name="close" />
          </button>
        </>
      )}
    </div>
  );
}
