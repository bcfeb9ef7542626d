// Watches beside a measurement whether memory is short: the kernel then clears accessed bits, and
// more may have been touched than is reported.
//
//   look ─── window 1 ─── look ─── window 2 ─── look      counted between two looks
//
// Cost: two small files for each window.
#pragma once

#include <optional>
#include <string>

#include "wss/process/memory_scope.h"
#include "wss/surveys/pressure.h"
#include "wss/window.h"

namespace tidegauge::wss {

class PressureWatch {
 public:
  explicit PressureWatch(MemoryScope scope);

  // After a window: what was counted since the window before was read; of the first, since it was
  // cleared. Where nothing can be read the last answer stays.
  const PressureWindow& look(const Pass& clear, const Pass& read);

  // Bytes that were searched for room, in windows where memory was short.
  uint64_t searchedBytes() const { return searched_bytes_; }
  const std::string& cgroup() const { return scope_.cgroup(); }  // empty: the machine

 private:
  MemoryScope scope_;
  MemoryCounters before_;
  PressureWindow last_;
  std::optional<int64_t> looked_ns_;  // when the window before was read
  uint64_t searched_bytes_ = 0;
};

}  // namespace tidegauge::wss
