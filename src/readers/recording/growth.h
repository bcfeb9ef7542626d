// Is a recording still being written, and has it changed since it was read? Both without reading it.
//
//   Stamp read = stampOf("run.sqlite");                       before openRecording
//   … stampOf("run.sqlite") != read  →  there is more
//   hasWriter("run.sqlite")          →  the recorder lives (it holds a lock on the file)
//
// Cost: two stat() and one lock asked for. Not while this process reads the file: closing any
// descriptor of a file drops the locks that SQLite holds on it.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace tidegauge::readers::recording {

struct Stamp {
  struct One {
    uint64_t device = 0, inode = 0;
    int64_t bytes = -1;  // −1: it is not there
    int64_t seconds = 0, nanoseconds = 0;
    auto operator<=>(const One&) const = default;
  };
  One file, journal;  // the journal gets what is committed first
  bool operator==(const Stamp&) const = default;
  bool exists() const { return file.bytes >= 0; }
};
Stamp stampOf(const std::string& path);

bool hasWriter(const std::string& path);

// It was not closed in good order, or is not yet: it is in the mode in which a recorder writes.
bool isOpen(const std::string& path);

}  // namespace tidegauge::readers::recording
