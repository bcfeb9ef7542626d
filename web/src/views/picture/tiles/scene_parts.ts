// What the scene of the timeline is given, whom it tells, and what it counts.
import type { DeviceInfo } from "../../../api/contract";
import type { Domain } from "../../../state/recording/domain";
import type { Place } from "./source";

export interface Canvases {
  back: HTMLCanvasElement;
  glass: HTMLCanvasElement;
  front: HTMLCanvasElement;
  minimap: HTMLCanvasElement;
}

export interface Listener {
  onArrival: (engineMs: number) => void;
  onError: (error: unknown) => void;
  onDrawnBy: (name: string) => void;
  /** what a column of the picture stands for, and the lowest block that is drawn as itself */
  onResolution?: (steps: number, bytes: number) => void;
}

export interface Subject {
  place: Place;
  device: DeviceInfo;
  domain: Domain;
}

export interface Stats {
  quads: number;
  tiles: number;
  frames: number;
  lastTileMs: number;
  /** questions on their way */
  waiting: number;
  /** side by side: what is in sight, CSS pixels of the picture */
  lanes?: readonly { key: string; top: number; bottom: number; bytesPerPixel: number }[];
}
