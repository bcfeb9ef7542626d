// PerfMaps: names of code that was made at run time, from /tmp/perf-PID.map, which CPython 3.12 and
// newer (`python -X perf`), Node.js, Java's agents and others write for profilers, a line a
// function:
//
//   7fedcd075a92 b py::train:/home/me/train.py   → function "train", file "/home/me/train.py"
//   7fedcd075aa0 40 LazyCompile:~foo             → function "LazyCompile:~foo"
//
// The file is looked for in the process's own /tmp, under its pid in its own namespace, and must be
// a plain file of the process's user or of root. It is read once, and its new end when an address
// is asked for that is not in it. A fork has its parent's names until it says others. Bounded: 64
// MiB a file, 500,000 names a process, 4 KiB a name.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tidegauge::record {

struct CodeName {
  std::string function, file;  // file: only of Python
  auto operator<=>(const CodeName&) const = default;
};

// What the lines of a map say. Lines that are damaged say nothing; a later one replaces what it
// overlaps at the same start.
class PerfMap {
 public:
  void add(std::string_view text);  // may end within a line: the rest comes with the next text
  const CodeName* find(uint64_t address) const;
  size_t size() const { return entries_.size(); }

 private:
  void addLine(std::string_view line);
  struct Entry {
    uint64_t end = 0;
    CodeName name;
  };
  std::map<uint64_t, Entry> entries_;
  std::string rest_;
  bool skip_ = false;  // up to the next line: this one is too long
};

class PerfMaps {
 public:
  PerfMaps() = default;
  ~PerfMaps();
  PerfMaps(const PerfMaps&) = delete;
  PerfMaps& operator=(const PerfMaps&) = delete;

  void look(uint32_t tgid);  // while it runs: where its files are, for when it does no more
  const CodeName* find(uint32_t tgid, uint64_t address);
  void inherit(uint32_t tgid, uint32_t parent);
  void forget(uint32_t tgid);

 private:
  struct File {
    int root = -1;        // of the process
    std::string own_pid;  // as it knows itself
    uint32_t user = 0;
    int descriptor = -1;
    uint64_t read_bytes = 0;
    uint32_t tries = 0;  // to open it, in vain
    PerfMap names;
    uint32_t parent = 0;
  };
  static void readOn(File& file);
  static void closeAll(const File& file);
  std::map<uint32_t, File> files_;
  size_t roots_ = 0;
};

}  // namespace tidegauge::record
