// Continuation: what of a trace is as it was in the reading that it continues, so that indexes of
// that one can be continued as well.
//
//   before   ├ steps … ┤├ the latest ┤
//   now      ├ steps … ┤├ new … … … … … ┤      the first device; the others may differ in all rows
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "model/trace.h"

namespace tidegauge::model {

// What an index computed of settled steps, for all readings that have these steps, whichever
// reading each of them continues. Thread-safe; who keeps something knows its type.
class SettledWork {
 public:
  std::shared_ptr<const void> get() const {
    std::lock_guard lock(mutex_);
    return kept_;
  }
  void keep(std::shared_ptr<const void> work) {
    std::lock_guard lock(mutex_);
    kept_.swap(work);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const void> kept_;
};

struct Continuation {
  std::shared_ptr<const RecordedWork> of;  // the work of the trace before, by which it is known
  // Events of the first device before this step are the same, and all lives that ended before it.
  // No life that began before it is older than the recording or has a lost end.
  Step steps = 0;
  struct Resized {
    uint32_t row = 0;
    uint64_t bytes_before = 0;  // of the block
  };
  // Of the lives that began before and did not end before: those with another size. By row.
  std::vector<Resized> resized;
  // Two readings that have the same one agree in all of this that both say is settled.
  std::shared_ptr<SettledWork> settled_work;
};

}  // namespace tidegauge::model
