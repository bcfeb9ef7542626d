// What stands where a picture cannot: nothing there, something missing, something broken.
import type { ComponentChildren } from "preact";
import type { ApiError } from "../api/client";
import { Icon, type IconName } from "./icons";

interface NoticeProps {
  icon: IconName;
  title: string;
  children: ComponentChildren;
  code?: string;
  actions?: ComponentChildren;
}

export function Notice({ icon, title, children, code, actions }: NoticeProps) {
  return (
    <div class="note-box">
      <Icon name={icon} class={icon === "alert" ? "danger" : "faint"} />
      <div>
        <h2>{title}</h2>
        {children}
        {code !== undefined && (
          <pre class="code" tabIndex={0} aria-label="code to copy">
            {code}
          </pre>
        )}
        {actions !== undefined && <div class="acts">{actions}</div>}
      </div>
    </div>
  );
}

export function ErrorNotice({ error, retry }: { error: ApiError; retry?: () => void }) {
  return (
    <Notice
      icon="alert"
      title={error.what}
      actions={
        retry && (
          <button type="button" class="btn" onClick={retry}>
            Try again
          </button>
        )
      }
    >
      {error.hint !== "" && <p>{error.hint}</p>}
    </Notice>
  );
}

/** How to get events into the next snapshot; the lines that PyTorch needs. */
export const RECORD_CODE = `import torch
torch.cuda.memory._record_memory_history(max_entries=1_000_000)
…                                    # the part of the run that matters
torch.cuda.memory._dump_snapshot("snapshot.pickle")`;
