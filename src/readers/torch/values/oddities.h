// Oddities: input that the reader could not use unchanged, on its way into Trace::issues. Bounds
// the number of distinct texts, because a hostile file can contain a new unknown key in every
// event.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "model/issues.h"
#include "readers/torch/values/values.h"

namespace tidegauge::readers::torch {

// Where a key was found.
enum class Place : uint8_t {
  kTopLevel,
  kEvent,
  kFrame,
  kSegment,
  kBlock,
  kAnnotation,
  kNames,
  kTensor,
  kCount
};

class Oddities {
 public:
  explicit Oddities(Values& values) : values_(values) {}

  // The byte that the next reports refer to.
  void setOffset(uint64_t offset) { offset_ = offset; }
  // With the bytes of memory that are omitted because of it, if any.
  void badValue(Place place, std::string_view key, uint64_t left_out_bytes = 0);
  void duplicateKey(Place place, Value key);
  void missingKey(Place place, std::string_view key);
  void unknownKey(Place place, Value key);
  void other(model::IssueKind kind, std::string detail, uint64_t bytes = 0);
  // Call once, at the end.
  void moveTo(model::Issues& issues);

 private:
  struct Count {
    uint64_t count = 0;
    uint64_t first_offset = model::Issue::kNone;
  };

  Values& values_;
  uint64_t offset_ = model::Issue::kNone;
  model::Issues issues_;
  boost::unordered_flat_map<std::pair<uint8_t, uint32_t>, Count> unknown_keys_;
  Count more_unknown_keys_;
};

}  // namespace tidegauge::readers::torch
