// The place of an address of a process: a module (program or library) and an offset in its file,
// which stay valid when the process has ended.
//
//   0x7f12a0001234 ─► {module 3 = libtorch_cuda.so, offset 0x1234}
//
// Reads /proc/PID/maps on look(), and again for an unknown address. Opens each module's file while
// the process lives, so that it can be read later.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "record/code/rows.h"
#include "record/process/process_maps.h"

namespace tidegauge::record {

inline constexpr uint32_t kNoModule = ~uint32_t{0};

struct CodePlace {
  uint32_t module = kNoModule;  // kNoModule: generated at run time; then offset is the address
  uint64_t offset = 0;
  auto operator<=>(const CodePlace&) const = default;
};

struct Module {
  FileId file;
  std::string path;  // as the process sees it
  int descriptor = -1;
};

class AddressSpaces {
 public:
  AddressSpaces() = default;
  ~AddressSpaces();
  AddressSpaces(const AddressSpaces&) = delete;
  AddressSpaces& operator=(const AddressSpaces&) = delete;

  // Absent: there is no code. If frames are found by frame pointers and some code has none, the
  // walk may enter data: such a stack ends there.
  std::optional<CodePlace> place(uint32_t pid, uint64_t address);
  void look(uint32_t pid);                      // immediately, since it may end
  void inherit(uint32_t pid, uint32_t parent);  // after a fork
  void forget(uint32_t pid);                    // it ended
  // By CodePlace::module.
  const Rows<Module>& modules() const { return modules_; }
  // Forgets the modules below `before` that are neither in `wanted` nor mapped by a process.
  // Returns them.
  std::vector<uint32_t> forgetModules(const std::set<uint32_t>& wanted, uint32_t before);

 private:
  struct Range {
    uint64_t start = 0, end = 0, offset = 0;
    uint32_t module = kNoModule;
  };
  struct Space {
    std::vector<Range> ranges;
    std::chrono::steady_clock::time_point looked;
    uint32_t looks = 0;
  };
  uint32_t moduleOf(uint32_t pid, const Mapping& mapping);

  static constexpr size_t kMaxOpen = 512;
  std::map<uint32_t, Space> spaces_;
  std::map<FileId, uint32_t> ids_;
  Rows<Module> modules_;
  size_t open_ = 0;
};

}  // namespace tidegauge::record
