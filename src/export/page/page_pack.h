// Answers embedded in a page: bodies by key, gzipped in blocks, written as text that no body can
// escape (base64 in scripts that no browser runs). Read by web/src/api/frozen.ts.
//
//   <script type="application/octet-stream" class="tgblock">H4sIAAAA…</script>      block 0
//   …                                                                              block 1, …
//   the last block: {"keys": […], "block": […], "begin": […], "bytes": […]}
//
// A block is about 1 MiB before gzip: small enough to be unpacked for one body. Cost: gzip, about
// 50 MB/s; memory: the packed bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidegauge::exporting {

class PagePack {
 public:
  void add(std::string key, std::string_view body);
  // Ends the current block. Later additions begin another.
  void close();
  // Appends `other`. Both must be closed.
  void append(PagePack&& other);

  size_t entries() const { return entries_.size(); }
  // An upper bound for the length of html() for the closed blocks.
  size_t htmlBytes() const { return block_bytes_ + index_bytes_ + kIndexFrame; }
  // Or the error of a block that could not be packed, which is kept until here.
  base::Result<std::string> html() const;

 private:
  static constexpr size_t kBlockBytes = 1 << 20;
  static constexpr size_t kIndexFrame = 1024;

  struct Entry {
    std::string key;
    uint32_t block;
    uint64_t begin;
    uint64_t bytes;
  };
  std::vector<std::string> blocks_;  // base64
  std::vector<Entry> entries_;
  std::string open_;
  base::Status packed_ = base::okStatus();  // or the first failure
  size_t block_bytes_ = 0;
  size_t index_bytes_ = 0;
};

// Tables of 32-byte rows compress two to three times better column by column: after an unchanged
// head, byte 0 of every row, then byte 1 of every row, … The length is unchanged.
std::string bytePlanes(std::string_view table, size_t head_bytes, size_t row_bytes);

// Errors (kLimit): more than 4 GiB, or no memory for zlib's tables.
base::Result<std::string> gzip(std::string_view bytes);

}  // namespace tidegauge::exporting
