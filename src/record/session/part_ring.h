// PartRing: the files of a recording that is kept below a size. The newest is always under its own
// name.
//
//   run.sqlite      what is being written
//   run.7.sqlite    the part before it, complete and closed; run.6.sqlite, … older ones
//
// A part ends when it has an eighth of the size beside what was live when it began. The oldest go
// when there is no room left, and not before: nearly all of the size is used. The journal of the
// newest is folded into its file often, because folding takes the journal's room a second time.
// Only names and sizes: who writes is Session (session_parts.cpp). Cost: a stat() per file and
// commit.
//
//   |  run.4  |  run.5  |  run.6  |  run.7  | run, its journal | the journal again |     0 … size
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/result.h"

namespace tidegauge::record {

inline constexpr uint64_t kMinRecordingBytes = uint64_t{16} << 20;

class PartRing {
 public:
  // `fresh_bytes`: what a part has beside what was live; 0: an eighth.
  PartRing(std::string path, uint64_t max_bytes, uint64_t fresh_bytes = 0);
  // Nobody asked for the limit: a recording that stays within it says nothing of parts.
  void limitIsDefault() { is_default_ = true; }
  bool saysItsNumber() const { return !is_default_ || number_ > 1; }

  // Before anything is written: parts of an older ring of this name, which are to be removed.
  // An error if there are any and they may not be replaced, or if one is not a recording or is
  // being written.
  static base::Result<std::vector<std::string>> older(const std::string& path, bool replace);
  // A file that has a part's name and is none: a recorder gave it another number, or none. Empty:
  // there is no such file. A recording that nobody limited must leave it alone.
  static std::string notAPart(const std::string& path);
  static base::Status remove(const std::vector<std::string>& parts);

  const std::string& path() const { return path_; }
  // What the newest part had at its beginning, carried over.
  void setCarried(uint64_t bytes) { carried_bytes_ = bytes; }
  uint64_t foldBytes() const { return max_bytes_ / 32; }                // of the journal
  uint64_t partBytes() const { return carried_bytes_ + fresh_bytes_; }  // then it ends
  // Removes the oldest parts until the newest can have this size.
  void makeRoom(uint64_t newest_bytes);
  // The newest is closed: it gets its number as well, and the next begins (WriterOptions::follows).
  base::Status keep(int64_t next_began_ns);
  uint32_t number() const { return number_; }  // of the part that is being written, from 1
  std::vector<std::string> kept() const;       // oldest first
  uint64_t keptBytes() const;                  // of these
  uint64_t maxBytes() const { return max_bytes_; }
  int64_t keptFrom_ns() const;                       // older calls are gone; 0: none are
  uint32_t removed() const { return removed_; }      // parts that are gone
  bool isTooSmall() const { return is_too_small_; }  // for the newest alone

 private:
  struct Part {
    uint32_t number = 0;
    uint64_t bytes = 0;
    int64_t began_ns = 0;
  };

  std::string path_;
  uint64_t max_bytes_, fresh_bytes_, carried_bytes_ = 0;
  int64_t began_ns_ = 0;  // of the newest; 0: it is the first
  uint32_t number_ = 1, removed_ = 0;
  bool is_too_small_ = false, is_default_ = false;
  std::deque<Part> parts_;
};

// "a/run.sqlite", 3 → "a/run.3.sqlite".
std::string partName(const std::string& path, uint32_t number);

}  // namespace tidegauge::record
