// The two words that a quad of the timeline and one of the map have in common: what it is, a byte a
// field. `kinds` and `places` stand elsewhere in the two; docs/formats/page-api.md.
//
//   kinds    provenance | flags | stack's slot | category's slot
//   places   stream     | pool  | log2 of the bytes, in 1/256

export const KIND_FIELDS = {
  provenance: { word: "kinds", shift: 0 },
  flags: { word: "kinds", shift: 8 },
  stackSlot: { word: "kinds", shift: 16 },
  categorySlot: { word: "kinds", shift: 24 },
  stream: { word: "places", shift: 0 },
  pool: { word: "places", shift: 8 },
} as const;
export type KindField = keyof typeof KIND_FIELDS;

/** log2Bytes counts in parts of this, from this bit of `places` on. */
export const LOG2_SHIFT = 16;
export const LOG2_PARTS = 256;

export interface Kinds extends Record<KindField, number> {
  stack: number;
  log2Bytes: number;
}

export function kindsOf(stack: number, kinds: number, places: number): Kinds {
  const byte = (field: KindField) => {
    const { word, shift } = KIND_FIELDS[field];
    return ((word === "kinds" ? kinds : places) >>> shift) & 0xff;
  };
  return {
    stack,
    provenance: byte("provenance"),
    flags: byte("flags"),
    stackSlot: byte("stackSlot"),
    categorySlot: byte("categorySlot"),
    stream: byte("stream"),
    pool: byte("pool"),
    log2Bytes: (places >>> LOG2_SHIFT) / LOG2_PARTS,
  };
}
