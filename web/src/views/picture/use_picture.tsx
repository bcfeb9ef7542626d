// A picture in a component: its canvases, and a scene on them from mount to unmount.
import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { type ApiError, asApiError } from "../../api/client";
import { glAllowed } from "../../gl/painter_canvas";
import { drawnBy, pictured, tileMs } from "../../state/page/store";
import { ErrorNotice } from "../../ui/notice";
import type { Canvases, Listener, Stats } from "./scene";

type Name = keyof Canvases;
type Given<N extends Name> = Pick<Canvases, N>;

export interface Picture {
  /** for the `ref` of each canvas */
  canvas: (name: Name) => (el: HTMLCanvasElement | null) => void;
  error: Signal<ApiError | null>;
}

/** A scene that runs on the canvases, and how to stop it. */
interface Started {
  stats: Stats;
  stop: () => void;
}

/** Calls `start` once, when the named canvases are there. */
export function usePicture<N extends Name>(
  names: readonly N[],
  start: (canvases: Given<N>, listener: Listener, allowGl: boolean) => Started,
): Picture {
  const found = useRef<Partial<Canvases>>({});
  const error = useSignal<ApiError | null>(null);
  const put = useRef((name: Name) => (el: HTMLCanvasElement | null) => {
    if (el) found.current[name] = el;
  });
  const first = useRef({ names, start });
  useEffect(() => {
    const { names: wanted, start: begin } = first.current;
    if (wanted.some((name) => !found.current[name])) return;
    const listener: Listener = {
      onArrival: (ms) => {
        tileMs.value = ms;
        error.value = null;
        pictured.value = true;
      },
      onError: (reason) => {
        error.value = asApiError(reason);
        pictured.value = true;
      },
      onDrawnBy: (name) => {
        drawnBy.value = name;
      },
    };
    const { stats, stop } = begin(found.current as Given<N>, listener, glAllowed());
    window.tidegaugeStats = stats;
    return () => {
      stop();
      // another picture may have started already
      if (window.tidegaugeStats === stats) delete window.tidegaugeStats;
    };
  }, [error]);
  return { canvas: put.current, error };
}

interface LayersProps {
  picture: Picture;
  id: string;
  /** for those who do not see it */
  label: string;
  hasBack?: boolean;
  /** shown instead of the picture's own */
  error?: ApiError | null;
  children?: ComponentChildren;
}

/** The canvases one above the other, and over them why there is nothing to see. */
export function PictureLayers({ picture, id, label, hasBack, error, children }: LayersProps) {
  const failed = error === undefined ? picture.error.value : error;
  return (
    <>
      {hasBack && <canvas ref={picture.canvas("back")} aria-hidden="true" />}
      <canvas ref={picture.canvas("blocks")} class="blocks" aria-hidden="true" />
      <canvas
        ref={picture.canvas("front")}
        id={id}
        class="front"
        tabIndex={0}
        role="img"
        aria-label={label}
      />
      {children}
      {failed && (
        <div class="overlay">
          <ErrorNotice error={failed} />
        </div>
      )}
    </>
  );
}
