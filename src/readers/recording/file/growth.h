// Is a recording still being written, and has it changed since it was read? Both without reading
// it.
//
//   Stamp read = stampOf("run.sqlite");                       before openRecording
//   … stampOf("run.sqlite") != read  →  there is more
//   hasWriter("run.sqlite")          →  the recorder lives (it holds a lock on the file)
//
// What is committed is not there yet when the journal has it: SQLite tells readers by the first
// bytes of the index beside it (FILE-shm, written through memory: no time of a file changes). A
// stamp has them: else a reading between the two would count as one of the new state, and the
// growth stay unseen.
//
// Cost: two stat(), three open() and one lock asked for, also while this process reads the file
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
    int64_t bytes = -1;  // −1: it is not there
    int64_t seconds = 0, nanoseconds = 0;
    auto operator<=>(const One&) const = default;
  };
  One file, journal;  // the journal gets what is committed first
  // Which commit is the last: a counter, how many frames, two salts. Zeros: there is no index.
  std::array<unsigned char, 48> commit{};
  bool operator==(const Stamp&) const = default;
  bool exists() const { return file.bytes >= 0; }
};
Stamp stampOf(const std::string& path);

bool hasWriter(const std::string& path);

// It was not closed in good order, or is not yet: it is in the mode in which a recorder writes.
bool isOpen(const std::string& path);

// Returns when the recorder does not wait to end this part (any more), and its next one is there;
// in any case after some seconds, and then false. Without it, readers that overlap would keep a
// part from ending for ever. Between this and opening the file the next part may take the name and
// not have begun yet: who has it open looks again (HeldFile::isEnding).
bool letPartEnd(const std::string& path);

}  // namespace tidegauge::readers::recording
