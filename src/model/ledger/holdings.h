// Holdings: what the driver handed out and is live, as rows whose numbers are used again.
//
//   row 0  0x7f00, 2 MiB, device 0, context 0x55, place 1
//   row 1  free                                              the next add() takes it
//   row 2  physical memory, 2 MiB, device 0, place 3         outlives contexts
//
// A place is a number that is given once, so it distinguishes a row from an earlier one of that
// number.
// Cost: O(log rows) per add, remove and move to another device.
#pragma once

#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

#include "model/memory_call.h"

namespace tidegauge::model {

struct Holding {
  uint64_t address = 0;  // or the handle of an array; 0: physical memory
  uint64_t size_bytes = 0;
  uint64_t stream = 0;
  uint64_t pool = 0;
  uint64_t context = 0;
  uint64_t place = 0;  // 0: the row is free
  int64_t since_ns = 0;
  uint64_t references = 0;    // physical memory: handles
  uint64_t mappings = 0;      // …
  uint64_t block_stream = 0;  // of the framework's first block
  uint32_t thread = 0;
  uint32_t stack = kNoStackOfCall;
  int32_t device = kUnknownDevice;
  uint16_t function = 0;
  MemoryKind kind = MemoryKind::kDevice;
  Plane plane = Plane::kDriver;
  bool of_framework = false;  // it has placed blocks here
};

// Pools and physical memory stay when the context ends in which they were made.
bool outlivesContext(MemoryKind kind);

class Holdings {
 public:
  uint64_t nextPlace() { return next_place_++; }
  uint32_t add(const Holding& holding);  // gives it its place
  void remove(uint32_t row);
  // A device that was not known before.
  void setDevice(uint32_t row, int32_t device);

  Holding& operator[](uint32_t row) { return rows_[row]; }
  const Holding& operator[](uint32_t row) const { return rows_[row]; }
  uint32_t size() const { return static_cast<uint32_t>(rows_.size()); }  // free rows, too
  auto begin() const { return rows_.begin(); }                           // likewise
  auto end() const { return rows_.end(); }

  std::vector<uint32_t> ofDevice(int32_t device) const;
  std::vector<uint32_t> ofContext(int32_t device, uint64_t context) const;  // what goes with it

 private:
  using Owner = std::tuple<int32_t, uint64_t, uint32_t>;  // device, context, row
  Owner ownerOf(uint32_t row) const;
  std::vector<uint32_t> between(const Owner& first, const Owner& last) const;

  std::vector<Holding> rows_;
  std::vector<uint32_t> free_rows_;
  std::set<Owner> by_owner_;  // every row that is not free
  uint64_t next_place_ = 1;
};

}  // namespace tidegauge::model
