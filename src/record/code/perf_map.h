// PerfMaps: names of code generated at run time, from /tmp/perf-PID.map. CPython 3.12 and newer
// (`python -X perf`), Node.js, Java's agents and others write it for profilers, one line per
// function:
//
//   7fedcd075a92 b py::train:/home/me/train.py   → function "train", file "/home/me/train.py"
//   7fedcd075aa0 40 LazyCompile:~foo             → function "LazyCompile:~foo"
//
// The file is opened in the process's own /tmp, under its pid in its own namespace, and must be a
// plain file of the process's user or of root. It is read once; its new end is read when an unknown
// address is looked up. A fork uses its parent's names until it writes its own. Bounded: 64 MiB per
// file, 500,000 names per process, 4 KiB per name.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tidegauge::record {

struct CodeName {
  std::string function, file;  // file: only for Python
  uint32_t line = 0;           // 0: unknown, as in every perf map
  auto operator<=>(const CodeName&) const = default;
};

// The lines of a map. Damaged lines are ignored; a later line replaces one with the same start.
class PerfMap {
 public:
  void add(std::string_view text);  // may end within a line: the next text continues it
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
  bool skip_ = false;  // skip to the next line: this one is too long
};

class PerfMaps {
 public:
  PerfMaps() = default;
  ~PerfMaps();
  PerfMaps(const PerfMaps&) = delete;
  PerfMaps& operator=(const PerfMaps&) = delete;

  void look(uint32_t tgid);  // while it runs: remembers where its files are
  const CodeName* find(uint32_t tgid, uint64_t address);
  void inherit(uint32_t tgid, uint32_t parent);
  void forget(uint32_t tgid);

 private:
  struct File {
    int root = -1;        // of the process
    std::string own_pid;  // in its own namespace
    uint32_t user = 0;
    int descriptor = -1;
    uint64_t read_bytes = 0;
    uint32_t tries = 0;  // failed attempts to open it
    PerfMap names;
    uint32_t parent = 0;
  };
  static void readOn(File& file);
  static void closeAll(const File& file);
  std::map<uint32_t, File> files_;
  size_t roots_ = 0;
};

}  // namespace tidegauge::record
