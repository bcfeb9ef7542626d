import { expect, it } from "vitest";
import { OnCanvas } from "./painter";

class Counting extends OnCanvas {
  times = 0;
  draw(...parts: unknown[]) {
    if (!this.shows(parts)) this.times += 1;
  }
}

it("draws again only what is not on the canvas", () => {
  const painter = new Counting({ width: 0, height: 0 } as HTMLCanvasElement);
  const look = {};
  painter.resize(10, 10, 1);
  painter.draw(look, 1, 2);
  painter.draw(look, 1, 2);
  expect(painter.times).toBe(1);
  painter.draw(look, 1, 3);
  painter.draw({}, 1, 3);
  painter.draw({}, 1);
  expect(painter.times).toBe(4);
  painter.draw();
  painter.resize(5, 10, 1); // empties the canvas
  painter.draw();
  expect(painter.times).toBe(6);
});
