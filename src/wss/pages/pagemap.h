// /proc/PID/pagemap: eight bytes for each page of addresses.
//
//   bit 63 in memory   62 swapped out   56 mapped by no other process
//   55 written since that was cleared (soft-dirty)   0 to 54 its frame
//
// Source: Documentation/admin-guide/mm/pagemap.rst.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "wss/pages/mappings.h"
#include "wss/process/process.h"

namespace tidegauge::wss {

inline constexpr uint64_t kPagemapPresent = uint64_t{1} << 63, kPagemapSwapped = uint64_t{1} << 62,
                          kPagemapExclusive = uint64_t{1} << 56,
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
  int get() const { return file_; }

 private:
  int file_;
};

// Calls `visit` with the ranges of whole pages in a mapping that are in memory, and with `swapped`
// those that are swapped out too, in order; not the page of zeros. Where nothing is costs nothing
// (PAGEMAP_SCAN, Linux 6.7: 3 ns a page that is there), on older kernels 8 bytes a page. Negative
// errno of what failed, or 0.
int eachRangeThere(const WordFile& pagemap, const Mapping& mapping, bool swapped,
                   const std::function<void(AddressRange)>& visit);

// Calls `visit` with the number of a mapping and entries of its pages, in order; not of a driver's,
// whose pages are on no list; long stretches where nothing is are left out. Ends without an error
// if the process is gone: who asks will see.
base::Status readPagemap(const Process& process, const std::vector<MappingUse>& uses,
                         const std::function<void(size_t, std::span<const uint64_t>)>& visit);

}  // namespace tidegauge::wss
