// The frame of the page: bars, rail, the view, the inspector; and the keys that work everywhere.
import { useEffect } from "preact/hooks";
import { frozen } from "../api/frozen";
import { monitoring } from "../state/answers/live";
import { onlyWorkingSets } from "../state/answers/working_set";
import { onKey } from "../state/page/keys";
import {
  device,
  file,
  go,
  helpOpen,
  inspectorOpen,
  loadSession,
  page,
  session,
  sessionError,
} from "../state/page/store";
import { toggleTheme } from "../state/page/theme";
import { visible } from "../text/visible";
import { ErrorNotice, Notice, RECORD_CODE } from "../ui/notice";
import { Inspector } from "../views/inspector/inspector";
import { viewKeys, viewNamed } from "../views/registry";
import { isOfProcess } from "../views/tables/columns";
import { FailedFiles } from "./failed_files";
import { FilterBar } from "./filter_bar";
import { Help } from "./help";
import { LinkNotes } from "./link_notes";
import { NothingThere } from "./nothing_there";
import { OpeningFile } from "./opening";
import { Rail } from "./rail";
import { Status } from "./status";
import { TopBar, toggleFilter, toggleInspector } from "./topbar";

function shellKey(event: KeyboardEvent): boolean {
  const view = viewKeys().get(event.key);
  if (view) {
    go({ view }, true);
    return true;
  }
  switch (event.key) {
    case "/":
      document.querySelector<HTMLInputElement>("#search")?.focus();
      return true;
    case "?":
      helpOpen.value = true;
      return true;
    case "F":
      toggleFilter();
      return true;
    case "L":
      document.querySelector<HTMLAnchorElement>("[title$='  L']")?.click();
      return true;
    case "i":
      toggleInspector();
      return true;
    case "t":
      toggleTheme();
      return true;
    case "c":
      document.querySelector<HTMLButtonElement>("[title^='Copy link']")?.click();
      return true;
    default:
      return false;
  }
}

function Main() {
  if (sessionError.value) {
    return (
      <div class="center">
        <ErrorNotice error={sessionError.value} retry={() => void loadSession()} />
      </div>
    );
  }
  if (!session.value) return <OpeningFile />;
  if (!file.value && !monitoring.value && !onlyWorkingSets.value) {
    return (
      <div class="center">
        <Notice icon="overview" title="No file is open" code={RECORD_CODE}>
          <p>
            Start <span class="fn">tidegauge view snapshot.pickle</span> with a file. To record one:
          </p>
        </Notice>
      </div>
    );
  }
  const view = viewNamed(page.value.view);
  // questions in SQL can be asked of any file, pictures need a device
  const ofProcess = page.value.view === "tables" && isOfProcess(page.value.table);
  if (file.value?.devices.length === 0 && view?.needsDevice && !ofProcess)
    return <NothingThere of={file.value} />;
  const View = view?.component;
  return View ? <View key={page.value.view} /> : null;
}

export function Shell() {
  useEffect(() => onKey(shellKey), []);
  const view = viewNamed(page.value.view);
  const name = file.value && visible(file.value.name);
  useEffect(() => {
    document.title = [view?.title, name, frozen && "exported", "Tidegauge"]
      .filter(Boolean)
      .join(" · ");
  }, [view?.title, name]);
  const open = inspectorOpen.value;
  const docked = open ?? ((view?.docked ?? false) && (device.value?.events ?? 0) > 0);
  return (
    <div class={`app${docked ? "" : " noside"}${open ? " sideopen" : ""}`}>
      <TopBar />
      <Rail />
      <main class="main" id="main">
        <FailedFiles />
        <LinkNotes />
        <FilterBar />
        <div class="stage">
          <Main />
        </div>
      </main>
      <Inspector />
      <Status />
      <Help />
    </div>
  );
}
