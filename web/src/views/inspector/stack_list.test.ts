import { describe, expect, it } from "vitest";
import type { Frame } from "../../api/contract";
import { foldNoise } from "./stack_list";

function frame(name: string, kind: "user" | "library" | "native" | "noise"): Frame {
  return {
    function: name,
    file: "",
    line: 0,
    kind: kind === "user" || kind === "library" ? "python" : "cpp",
    noise: kind === "noise",
    user: kind === "user",
    repeat: 1,
    note: "",
  };
}

const names = (of: ReturnType<typeof foldNoise>) => of.shown.map((one) => one.frame.function);

describe("stacks", () => {
  it("fold the framework into one line, where its first frame stood", () => {
    const folded = foldNoise([
      frame("linear", "library"),
      frame("at::linear", "native"),
      frame("mine", "user"),
      frame("_PyEval", "noise"),
      frame("main", "user"),
    ]);
    expect(names(folded)).toEqual(["linear", "mine", "main"]);
    expect(folded).toMatchObject({ hidden: 2, before: 1 });
  });
  it("keep native frames where there is no Python", () => {
    const folded = foldNoise([frame("unwind", "noise"), frame("x", "noise"), frame("a", "native")]);
    expect(names(folded)).toEqual(["a"]);
  });
  it("stay as they are when there is little to fold or nothing else", () => {
    expect(foldNoise([frame("a", "noise"), frame("b", "user")]).hidden).toBe(0);
    expect(names(foldNoise([frame("a", "noise"), frame("b", "noise")]))).toEqual(["a", "b"]);
    expect(foldNoise([])).toEqual({ shown: [], hidden: 0, before: 0 });
  });
  it("keep the frames of the forward pass", () => {
    const forward = { ...frame("forward", "user"), kind: "forward" };
    const folded = foldNoise([
      frame("at::mul", "native"),
      frame("autograd", "native"),
      frame("backward", "library"),
      forward,
    ]);
    expect(names(folded)).toEqual(["backward", "forward"]);
  });
});
