// /sys/kernel/mm/page_idle/bitmap: a bit for each frame of memory. Setting it marks the page as
// idle; it stays set until the page is touched.
//
//   word 0: frames 0 to 63    word 1: frames 64 to 127 …       8 bytes each, read and written whole
//
// Only bits of frames that are asked for are set: others' pages stay as they are. Neighbouring
// words go in one call. Source: Documentation/admin-guide/mm/idle_page_tracking.rst.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace tidegauge::wss {

class IdleBitmap {
 public:
  explicit IdleBitmap(std::string path) : path_(std::move(path)) {}
  // Which frames are meant, in order, each once or more often.
  void add(uint64_t frame);
  base::Status mark() const;
  base::Status look();
  // After look(), of frames that were added, in order: whether it still is idle.
  bool isIdle(uint64_t frame);

 private:
  struct Word {
    uint64_t number = 0;
    uint64_t bits = 0;
  };
  template <class Transfer>
  base::Status eachRun(int flags, const Transfer& transfer) const;

  std::string path_;
  std::vector<Word> words_;
  size_t at_ = 0;  // where isIdle looked last
};

}  // namespace tidegauge::wss
