// The mappings of a process with what the kernel counts in each: /proc/PID/smaps.
//
//   7f12a000-7f13b000 rw-p 00012000 fd:01 131   /usr/lib/libx.so
//   Rss:   68 kB … Referenced:  12 kB …        → Mapping + MappingSums, in bytes
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tidegauge::wss {

enum class MappingKind : uint8_t {
  kHeap,       // [heap]: brk
  kStack,      // [stack]: of the first thread
  kAnonymous,  // of no file: malloc's large blocks, stacks of other threads
  kFile,       // of a file: libraries, mapped data
  kShared,     // shared memory: /dev/shm, memfd, SysV, shared anonymous
  kHugetlb,    // of reserved huge pages
  kDevice,     // of a driver
  kKernel,     // [vdso], [vvar], [vsyscall]
  kPinned,     // host memory that is pinned for devices: marks.h
};
std::string_view name(MappingKind kind);  // "heap", "anonymous", …
std::optional<MappingKind> kindNamed(std::string_view name);

struct AddressRange {
  uint64_t begin = 0, end = 0;
};

struct Mapping {
  uint64_t start = 0;
  uint64_t end = 0;
  bool writable = false;
  bool executable = false;
  bool shared = false;
  MappingKind kind = MappingKind::kAnonymous;
  std::string path;      // as the kernel names it, may hold any bytes; empty: it has none
  uint64_t file = 0;     // a number for the file, made of device and inode; 0: it maps none
  uint64_t to_file = 0;  // an address + this is the place in the file; wraps around
};

// Memory without a file that only forked processes share: heap, stacks, anonymous memory.
bool isPrivateMemory(const Mapping& mapping);

// In bytes.
struct MappingSums {
  uint64_t rss = 0;         // in memory
  uint64_t pss = 0;         // of it, each page divided among the processes that map it
  uint64_t referenced = 0;  // of rss, touched since it was cleared
  uint64_t shared = 0;      // of rss, mapped by others too: they may have touched it
  uint64_t dirty = 0;       // of rss, not as on disk
  uint64_t huge = 0;        // of rss, in huge pages: touched as a whole or not at all
  uint64_t hugetlb = 0;     // beside rss; the kernel does not report whether it was touched
  uint64_t swap = 0;        // beside rss, not in memory
  uint64_t locked = 0;
  void add(const MappingSums& other);
};
// All of them, by name.
inline constexpr std::array<std::pair<const char*, uint64_t MappingSums::*>, 9> kSums{
    {{"rss", &MappingSums::rss},
     {"pss", &MappingSums::pss},
     {"referenced", &MappingSums::referenced},
     {"shared", &MappingSums::shared},
     {"dirty", &MappingSums::dirty},
     {"huge", &MappingSums::huge},
     {"hugetlb", &MappingSums::hugetlb},
     {"swap", &MappingSums::swap},
     {"locked", &MappingSums::locked}}};

// Those that only back-ends know that know what is shared: BackendTraits::knows_sharing.
constexpr bool isOfSharing(uint64_t MappingSums::*sum) {
  return sum == &MappingSums::pss || sum == &MappingSums::shared || sum == &MappingSums::locked;
}

struct MappingUse {
  Mapping mapping;
  MappingSums sums;
};

// Reads the text of smaps, or of maps, which has the heads alone. Lines of no known form are passed
// over; numbers that overflow are taken as the largest. `hugetlb_devices`: hugetlb_devices.h, asked
// at the first file that is on no disk; smaps marks them itself. Cost: 10 ns per line.
using HugetlbDevices = std::function<std::vector<std::string>()>;
class MappingsParser {
 public:
  // `about`: the expected number of mappings.
  explicit MappingsParser(HugetlbDevices hugetlb_devices = {}, size_t about = 0);
  void add(std::string_view lines);  // whole ones
  std::vector<MappingUse> take() { return std::move(uses_); }

 private:
  bool isHugetlb(std::string_view device);
  std::optional<Mapping> parseHead(std::string_view line);

  std::vector<MappingUse> uses_;
  HugetlbDevices ask_;
  std::optional<std::vector<std::string>> hugetlb_;  // once they were asked for
};
std::vector<MappingUse> parseSmaps(std::string_view text);

}  // namespace tidegauge::wss
