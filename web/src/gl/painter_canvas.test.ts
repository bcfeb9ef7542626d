import { expect, it, vi } from "vitest";
import { PainterCanvas } from "./painter_canvas";

it("paints anew when its context comes back, until it is disposed of", () => {
  const canvas = new EventTarget() as HTMLCanvasElement;
  const painters: { name: string; dispose: () => void }[] = [];
  const make = () => {
    const painter = { name: "test", dispose: vi.fn() };
    painters.push(painter);
    return painter;
  };
  const restored = vi.fn();
  const blocks = new PainterCanvas(canvas, { webGl: make, canvas: make }, true, () => {}, restored);
  const lost = new Event("webglcontextlost", { cancelable: true });
  canvas.dispatchEvent(lost);
  expect(lost.defaultPrevented).toBe(true);
  canvas.dispatchEvent(new Event("webglcontextrestored"));
  expect(painters).toHaveLength(2);
  blocks.dispose();
  canvas.dispatchEvent(new Event("webglcontextrestored"));
  expect(painters).toHaveLength(2);
  expect(restored).toHaveBeenCalledTimes(1);
  expect(painters[1]?.dispose).toHaveBeenCalled();
});
