// PartRing: the files of a recording that is kept below a size. The newest is always under its own name.
//
//   run.sqlite      what is being written
//   run.7.sqlite    the part before it, complete and closed; run.6.sqlite, … older ones
//
// A part ends when the files of the newest have a quarter of the size; the oldest go until all fit, with
// room for the newest to be folded into one file. Only names and sizes: who writes is Session
// (session_parts.cpp). Cost: a stat() per commit.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/result.h"

namespace tidegauge::record {

inline constexpr uint64_t kLeastRecordingBytes = uint64_t{16} << 20;

class PartRing {
 public:
  // `part_bytes`: another size for parts, for tests; 0: a quarter.
  PartRing(std::string path, uint64_t max_bytes, uint64_t part_bytes = 0);

  // Before anything is written: parts of an older ring of this name, which are to be removed. Refused: any,
  // unless they may be replaced; then what is no recording or is being written.
  static base::Result<std::vector<std::string>> older(const std::string& path, bool replace);
  static base::Status remove(const std::vector<std::string>& parts);

  const std::string& path() const { return path_; }
  // What the newest part had at its beginning, carried over.
  void setCarried(uint64_t bytes);
  // Bytes of the newest part's files at which it is looked at; if it has the half when it is folded into
  // one file, it ends.
  uint64_t lookBytes() const { return look_bytes_; }
  // It is closed: it gets its number, and the oldest go.
  base::Status keep();
  uint32_t number() const { return number_; }  // of the part that is being written, from 1
  std::vector<std::string> kept() const;       // oldest first
  uint64_t keptBytes() const;
  uint32_t removed() const { return removed_; }      // parts that are gone
  bool isTooSmall() const { return is_too_small_; }  // what is live alone takes too much

 private:
  struct Part {
    uint32_t number = 0;
    uint64_t bytes = 0;
  };
  void removeOldest();

  std::string path_;
  uint64_t max_bytes_, part_bytes_, look_bytes_;
  uint32_t number_ = 1, removed_ = 0;
  bool is_too_small_ = false;
  std::deque<Part> parts_;
};

// "a/run.sqlite", 3 → "a/run.3.sqlite".
std::string partName(const std::string& path, uint32_t number);

}  // namespace tidegauge::record
