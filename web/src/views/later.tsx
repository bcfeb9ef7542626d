// A view whose script is loaded when it is opened for the first time, so that the first picture
// does not wait for views that are not seen.
//
//   ...later(() => import("./map/map_view").then((of) => of.MapView))
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { ErrorNotice } from "../ui/notice";
import { loaderOf } from "./loader";

export interface LaterView {
  component: ComponentType;
  /** begins to load it; what a link names is loaded beside the first answers */
  prepare: () => void;
}

export function later(load: () => Promise<ComponentType>): LaterView {
  const { loaded, failure, start } = loaderOf(load);
  function component() {
    useEffect(start, []);
    if (loaded.value) {
      const View = loaded.value.it;
      return <View />;
    }
    return (
      <div class="center">
        {failure.value ? (
          <ErrorNotice error={failure.value} retry={start} />
        ) : (
          <div class="progress" role="progressbar" aria-label="Loading the view" />
        )}
      </div>
    );
  }
  return { component, prepare: start };
}
