// Files that another program cuts while they are mapped here. Linux sends SIGBUS to who reads a
// page that is gone, which ends the process. A module in somebody's Python must not do that.
//
//   CutFilesReadAsZeros guard;       while one lives: the rest of such a mapping reads as zeros
//   MappedRange range(bytes);        … if it is named here
//   …                                reading
//   range.isCut()                    then what was read is worth nothing
//
// The handler is the process's own while a guard lives, and passes on what is not about a named
// range. Cost: two system calls per guard. Source: mmap(2), SIGBUS; sigaction(2).
#pragma once

#include <cstdint>
#include <span>

namespace tidegauge::base {

class CutFilesReadAsZeros {
 public:
  CutFilesReadAsZeros();
  ~CutFilesReadAsZeros();
  CutFilesReadAsZeros(const CutFilesReadAsZeros&) = delete;
  CutFilesReadAsZeros& operator=(const CutFilesReadAsZeros&) = delete;
};

// Whole pages of a private mapping. Without a free place (64 at once) the range is not named.
class MappedRange {
 public:
  MappedRange() = default;
  explicit MappedRange(std::span<const uint8_t> mapped);
  MappedRange(MappedRange&& other) noexcept;
  MappedRange& operator=(MappedRange&& other) noexcept;
  MappedRange(const MappedRange&) = delete;
  MappedRange& operator=(const MappedRange&) = delete;
  ~MappedRange();

  bool isCut() const;

 private:
  static constexpr int kNone = -1;
  int place_ = kNone;
};

}  // namespace tidegauge::base
