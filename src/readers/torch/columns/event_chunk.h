// EventChunk: rows of events that are finished while the reader still reads. Whoever takes chunks
// can work at the same time as the reader, in another thread: a chunk shares nothing with it.
//
//   reader   ├ rows 0 … 32,767 ┤├ 32,768 … ┤├ …            ┤ assemble
//   taker                       ├ chunk 0 ┤  ├ chunk 1 ┤ …
//
// A chunk has 32,768 rows or some more, or fewer at the end of a list.
//
// A row may still move: a file can list its events in another order than they are read, or out of
// the order of time. model::Device says so at the end (event_begin, seams).
//
// Cost: one copy of 25 bytes per row, from the processor's cache.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/lives/blocks/event_rows.h"
#include "model/trace.h"

namespace tidegauge::readers::torch {

struct EventChunk {
  uint64_t first_row = 0;
  // Chunks with the same number are from one list of the file, which is one device.
  uint32_t list = 0;
  uint64_t bytes_read = 0;  // of the input, until here
  std::vector<model::Action> action;
  std::vector<uint64_t> address;
  std::vector<uint64_t> size_bytes;
  std::vector<model::StackId> stack;
  std::vector<model::StreamId> stream;
  std::vector<model::PoolId> pool;        // empty: no event has one so far
  std::vector<model::StringId> category;  // empty: no event has one so far

  size_t rows() const { return action.size(); }
  // Its rows as steps from `begin` on; `subject` is written by who joins them.
  model::EventRows rowsAt(model::Step begin, uint32_t* subject) const {
    return {.begin = begin,
            .count = rows(),
            .action = action.data(),
            .address = address.data(),
            .size_bytes = size_bytes.data(),
            .stack = stack.data(),
            .stream = model::UniformRows<model::StreamId>::of(stream),
            .pool = model::UniformRows<model::PoolId>::of(pool),
            .category = model::UniformRows<model::StringId>::of(category),
            .subject = subject};
  }
};

// Called in the reader's thread, in the order of the rows. May move the chunk's columns out.
using TakeChunk = std::function<void(EventChunk& chunk)>;

}  // namespace tidegauge::readers::torch
