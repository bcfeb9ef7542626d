import { describe, expect, it } from "vitest";
import { fitting } from "./draw";
import { labelSlot } from "./slots";

const width = (text: string) => text.length * 10;

describe("the text of a cell", () => {
  it("is the longest of its forms that fits", () => {
    const at = (room: number) => fitting("Block.forward", "model.py:118", room, width);
    expect(at(130)).toBe("Block.forward");
    expect(at(129)).toBe("Block :118");
    expect(at(99)).toBe("Block");
    expect(at(49)).toBe("");
  });

  it("is cut after at least four letters where there is no class", () => {
    expect(fitting("forward_backward", "train.py:1", 80, width)).toBe("forward…");
    expect(fitting("forward_backward", "train.py:1", 40, width)).toBe("");
  });
});

describe("the colour of a stack", () => {
  it("is a hash of its label, the same as the server's", () => {
    // fnv1a32("") is the offset itself, of "a" 0xe40c292c
    expect(labelSlot("")).toBe(1 + (2166136261 % 8));
    expect(labelSlot("a")).toBe(1 + (0xe40c292c % 8));
    expect(labelSlot("foobar")).toBe(1 + (0xbf9cf968 % 8));
  });
});
