// Which figures of a recording are incomplete, and why.
export type FigureName =
  | "memory"
  | "blocks"
  | "launches"
  | "copies"
  | "call sites"
  | "kernel names"
  | "launch events"
  | "device times";

export interface Missing {
  figures: FigureName[];
  reason: string;
  /** for this they can only be too low: what was there before the process was watched */
  at_least: boolean;
}
