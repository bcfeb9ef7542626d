// Groups of resctrl, by which the processor counts, or limits, the last-level cache of some
// threads.
//
//   /sys/fs/resctrl/mon_groups/tidegauge-812    made here; removed at the end
//     tasks                                     threads are moved by writing their numbers
//     mon_data/mon_L3_00/llc_occupancy          1,376,256 bytes in this cache
//     mon_data/mon_L3_00/mbm_total_bytes        read from and written to memory so far
//   /sys/fs/resctrl/tidegauge-812/schemata      L3:0=f    the ways of the cache that they may fill
//
// Source: Documentation/filesystems/resctrl.rst; for AMD and Intel on x86, and MPAM on arm64.
// **Not tried on hardware.**
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "wss/process/process.h"

namespace tidegauge::wss {

// The files below the folder where resctrl is mounted; paths have no slash at the front.
class ResctrlFiles {
 public:
  virtual ~ResctrlFiles() = default;
  virtual std::optional<std::string> read(const std::string& path) const = 0;
  virtual std::vector<std::string> list(const std::string& folder) const = 0;
  // 0, or errno.
  virtual int write(const std::string& path, std::string_view text) = 0;
  virtual int makeFolder(const std::string& path) = 0;
  virtual int removeFolder(const std::string& path) = 0;
  virtual bool mayWrite() const = 0;
};

class KernelResctrl final : public ResctrlFiles {
 public:
  explicit KernelResctrl(std::string root = "/sys/fs/resctrl") : root_(std::move(root)) {}
  std::optional<std::string> read(const std::string& path) const override;
  std::vector<std::string> list(const std::string& folder) const override;
  int write(const std::string& path, std::string_view text) override;
  int makeFolder(const std::string& path) override;
  int removeFolder(const std::string& path) override;
  bool mayWrite() const override;

 private:
  std::string root_;
};

// Removes groups of a tidegauge that was killed: "tidegauge-812", and there is no process 812.
// Their threads fall back to the group above.
void removeLeftOverGroups(ResctrlFiles& files);

// What the processor counts.
struct ResctrlFeatures {
  bool occupancy = false, traffic = false;
};
// Errors: not mounted, this processor or kernel has nothing like it, or this user may not use it.
base::Result<ResctrlFeatures> featuresOf(const ResctrlFiles& files);

// The groups that a process is in: of control, and of monitoring. Empty: the default ones.
struct ResctrlPlace {
  std::string control{}, monitor{};
  bool operator==(const ResctrlPlace&) const = default;
};
// From the text of /proc/PID/cpu_resctrl_groups ("res:/web\nmon:\n").
ResctrlPlace parseResctrlPlace(std::string_view text);
// The groups of all threads of the process. Errors: they are in several. A kernel older than Linux
// 5.6 does not report them: then the default ones.
base::Result<ResctrlPlace> resctrlPlaceOf(const Process& process);

// The ways that a group of control has in each last-level cache, by the number of the cache. Empty:
// they cannot be limited here.
std::vector<std::pair<std::string, uint64_t>> waysOf(const ResctrlFiles& files,
                                                     const std::string& group);

// An error if another program monitors it: a thread is in one group of monitoring.
base::Status checkNotMonitored(const Process& process, const ResctrlPlace& place);

// A group made here, with the threads of one process.
class ResctrlGroup {
 public:
  enum class Kind : uint8_t { kMonitor, kControl };
  // Moves all threads of the process, which is in `from`. Errors: the processor has no group left,
  // no right, or a thread cannot be moved.
  static base::Result<ResctrlGroup> make(ResctrlFiles& files, const Process& process,
                                         const ResctrlPlace& from, Kind kind);
  ResctrlGroup(ResctrlGroup&& other) noexcept;
  ResctrlGroup& operator=(ResctrlGroup&&) = delete;
  ResctrlGroup(const ResctrlGroup&) = delete;
  // Moves everybody back who is in it, and removes it.
  ~ResctrlGroup();

  const std::string& path() const { return path_; }
  // Bytes, of all caches together; absent: the processor does not say now.
  std::optional<uint64_t> occupancy() const { return sumOf("llc_occupancy"); }
  std::optional<uint64_t> traffic() const { return sumOf("mbm_total_bytes"); }
  // The same ways in each cache: "L3:0=f;1=f".
  base::Status setWays(uint64_t mask);

 private:
  ResctrlGroup(ResctrlFiles& files, std::string path, std::string home)
      : files_(&files), path_(std::move(path)), home_(std::move(home)) {}
  base::Status take(const Process& process);
  std::optional<uint64_t> sumOf(const char* name) const;

  ResctrlFiles* files_;
  std::string path_;  // empty: moved from
  std::string home_;  // the tasks file of the group that its threads come from
};

}  // namespace tidegauge::wss
