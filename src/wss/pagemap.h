// /proc/PID/pagemap: eight bytes for each page of addresses.
//
//   bit 63 in memory   62 swapped out   55 written since that was cleared (soft-dirty)   0 to 54 its frame
//
// Source: Documentation/admin-guide/mm/pagemap.rst.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "wss/mappings.h"
#include "wss/process.h"

namespace tidegauge::wss {

inline constexpr uint64_t kPagemapPresent = uint64_t{1} << 63, kPagemapSwapped = uint64_t{1} << 62,
                          kPagemapSoftDirty = uint64_t{1} << 55,
                          kPagemapFrame = (uint64_t{1} << 55) - 1;

// A file of words, which it closes.
class WordFile {
 public:
  explicit WordFile(int file) : file_(file) {}
  ~WordFile();
  WordFile(const WordFile&) = delete;
  WordFile& operator=(const WordFile&) = delete;
  // How many words there are from `first`; negative: errno says why not.
  ssize_t read(std::span<uint64_t> words, uint64_t first) const;

 private:
  int file_;
};

// Calls `visit` with the number of a mapping and entries of its pages, in order; not of a driver's, whose
// pages are on no list. Ends without an error if the process is gone: who asks will see.
base::Status readPagemap(const Process& process, const std::vector<MappingUse>& uses,
                         const std::function<void(size_t, std::span<const uint64_t>)>& visit);

}  // namespace tidegauge::wss
