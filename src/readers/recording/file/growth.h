// Is a recording still being written, and has it changed since it was read? Both are answered
// without reading it.
//
//   Stamp read = stampOf("run.sqlite");                       before openRecording
//   … stampOf("run.sqlite") != read  →  there is more
//   hasWriter("run.sqlite")          →  the recorder is alive (it holds a lock on the file)
//
// A commit is visible only when the index says so: SQLite informs readers through the first bytes
// of the index beside the file (FILE-shm, written through memory, so no file time changes). A stamp
// includes them. Without them, a read between write and commit would count as a read of the new
// state, and the growth would go unnoticed.
//
// Cost: two stat(), three open() and one lock query, even while this process reads the file
// (held_file.h). Format of the index: https://www.sqlite.org/walformat.html, section 2.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>

namespace tidegauge::readers::recording {

struct Stamp {
  struct One {
    uint64_t device = 0, inode = 0;
    int64_t bytes = -1;  // −1: does not exist
    int64_t seconds = 0, nanoseconds = 0;
    auto operator<=>(const One&) const = default;
  };
  One file, journal;  // the journal receives commits first
  // The last commit: a counter, the number of frames, two salts. Zeros: no index.
  std::array<unsigned char, 48> commit{};
  bool operator==(const Stamp&) const = default;
  bool exists() const { return file.bytes >= 0; }
};
Stamp stampOf(const std::string& path);

bool hasWriter(const std::string& path);

// It was not closed cleanly, or not yet: it is in the mode in which a recorder writes.
bool isOpen(const std::string& path);

// Returns true when the recorder no longer waits to end this part and its next part exists; false
// after some seconds. Without this, overlapping readers would keep a part from ending forever.
// Before the file is opened, the next part may take the name and be incomplete: the reader that
// opened it checks again (HeldFile::isEnding).
bool letPartEnd(const std::string& path);

}  // namespace tidegauge::readers::recording
