// Shown instead of a picture: there is nothing to show, something is missing, or something failed.
import type { ComponentChildren } from "preact";
import type { ApiError } from "../api/client";
import { visible } from "../text/visible";
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

interface ErrorNoticeProps {
  error: ApiError;
  retry?: () => void;
  retryLabel?: string;
}

export function ErrorNotice({ error, retry, retryLabel = "Try again" }: ErrorNoticeProps) {
  return (
    <Notice
      icon="alert"
      title={visible(error.what)}
      actions={
        retry && (
          <button type="button" class="btn" onClick={retry}>
            {retryLabel}
          </button>
        )
      }
    >
      {error.hint !== "" && <p>{visible(error.hint)}</p>}
    </Notice>
  );
}

/** How to get events into the next snapshot; the lines that PyTorch needs. */
export const RECORD_CODE = `import torch
torch.cuda.memory._record_memory_history(max_entries=1_000_000)
…                                    # the part of the run that matters
torch.cuda.memory._dump_snapshot("snapshot.pickle")`;
