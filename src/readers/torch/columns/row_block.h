// RowBlock: rows of events on their way into the columns, so that each column grows once per block.
//
//   action   [alloc][free_requested][free_completed] …   up to 256 rows
//   common   [ ●───────────●──────────────● ]            what is the same in all events of a shape
//
// Cost: 32 bytes per row, kept in the processor's cache; copied to the columns once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/trace.h"

namespace tidegauge::readers::torch {

struct EventRow;

struct RowBlock {
  static constexpr size_t kRows = 256;

  std::array<model::Action, kRows> action;
  std::array<uint64_t, kRows> address;
  std::array<uint64_t, kRows> size_bytes;
  std::array<model::StackId, kRows> stack;
  std::array<int64_t, kRows> time_us;
  // Stream, pool, compile context and metadata of the row; equal for neighbours, mostly.
  std::array<const EventRow*, kRows> common;
  size_t rows = 0;
};

}  // namespace tidegauge::readers::torch
