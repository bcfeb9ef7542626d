#include "wss/resctrl/resctrl_group.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include "base/text_layout.h"
#include "wss/process/kernel_file.h"
#include "wss/process/threads.h"

namespace tidegauge::wss {
namespace {

constexpr std::string_view kWhat = "--backend resctrl";

std::optional<uint64_t> numberOf(const std::string& text) {
  uint64_t value = 0;
  auto [rest, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (bad != std::errc()) return std::nullopt;  // "Unavailable", "Error"
  return value;
}

std::string below(const std::string& folder, std::string_view name) {
  return folder.empty() ? std::string(name) : fmt::format("{}/{}", folder, name);
}

bool hasLine(const std::string& text, std::string_view line) {
  return ("\n" + text + "\n").find(fmt::format("\n{}\n", line)) != std::string::npos;
}

}  // namespace

std::optional<std::string> KernelResctrl::read(const std::string& path) const {
  auto text = readKernelFile(below(root_, path));
  if (!text.ok()) return std::nullopt;
  return std::move(text).value();
}

std::vector<std::string> KernelResctrl::list(const std::string& folder) const {
  std::vector<std::string> names;
  std::error_code failed;
  for (std::filesystem::directory_iterator it(below(root_, folder), failed), end;
       !failed && it != end; it.increment(failed))
    names.push_back(it->path().filename());
  return names;
}

int KernelResctrl::write(const std::string& path, std::string_view text) {
  return writeKernelFile(below(root_, path), text);
}

int KernelResctrl::makeFolder(const std::string& path) {
  return mkdir(below(root_, path).c_str(), 0755) == 0 ? 0 : errno;
}

int KernelResctrl::removeFolder(const std::string& path) {
  return rmdir(below(root_, path).c_str()) == 0 ? 0 : errno;
}

bool KernelResctrl::mayWrite() const { return access((root_ + "/tasks").c_str(), W_OK) == 0; }

void removeLeftOverGroups(ResctrlFiles& files) {
  constexpr std::string_view kOurs = "tidegauge-";
  auto removeIn = [&](const std::string& folder) {
    for (const std::string& name : files.list(folder)) {
      if (!name.starts_with(kOurs)) continue;
      auto pid = numberOf(name.substr(kOurs.size()));
      bool is_gone = pid && kill(static_cast<pid_t>(*pid), 0) != 0 && errno == ESRCH;
      if (is_gone) files.removeFolder(below(folder, name));
    }
  };
  removeIn("");
  removeIn("mon_groups");
  for (const std::string& group : files.list("")) removeIn(group + "/mon_groups");
}

base::Result<ResctrlFeatures> featuresOf(const ResctrlFiles& files) {
  if (files.list("").empty())
    return missingFeature("resctrl is not mounted at /sys/fs/resctrl",
                          "If the processor counts its last-level cache (flag cqm_occup_llc in "
                          "/proc/cpuinfo), run `mount -t resctrl resctrl /sys/fs/resctrl`");
  auto features = files.read("info/L3_MON/mon_features");
  if (!features || !hasLine(*features, "llc_occupancy"))
    return missingFeature("this processor does not count who fills its last-level cache",
                          "--backend pte and smaps report the touched memory");
  if (!files.mayWrite())
    return missingFeature("/sys/fs/resctrl may not be written by this user", "Run as root");
  return ResctrlFeatures{true, hasLine(*features, "mbm_total_bytes")};
}

ResctrlPlace parseResctrlPlace(std::string_view text) {
  auto valueOf = [&](std::string_view key) {
    size_t at = text.find(key);
    if (at == std::string_view::npos) return std::string();
    std::string_view value = text.substr(at + key.size());
    value = value.substr(0, value.find('\n'));
    while (value.starts_with('/')) value.remove_prefix(1);
    return std::string(value);
  };
  return {valueOf("res:"), valueOf("mon:")};
}

base::Result<ResctrlPlace> resctrlPlaceOf(const Process& process) {
  TG_ASSIGN_OR_RETURN(std::vector<pid_t> threads, threadsOf(process, kWhat));
  std::optional<ResctrlPlace> place;
  for (pid_t thread : threads) {
    auto text =
        readKernelFile(fmt::format("/proc/{}/task/{}/cpu_resctrl_groups", process.pid(), thread));
    if (!text.ok()) continue;  // it has ended, or the kernel is older
    ResctrlPlace its = parseResctrlPlace(text.value());
    if (place && *place != its)
      return missingFeature(
          fmt::format("the threads of process {} are in several groups of resctrl ({} and {})",
                      process.pid(), base::printable(place->control + " " + place->monitor),
                      base::printable(its.control + " " + its.monitor)),
          "Only a process with one group can be put back into it afterwards");
    place = its;
  }
  return place.value_or(ResctrlPlace{});
}

base::Status checkNotMonitored(const Process& process, const ResctrlPlace& place) {
  if (place.monitor.empty()) return base::okStatus();
  return missingFeature(fmt::format("another program monitors process {} (group {} of resctrl)",
                                    process.pid(), base::printable(place.monitor)),
                        "Wait until it has removed its group");
}

base::Result<ResctrlGroup> ResctrlGroup::make(ResctrlFiles& files, const Process& process,
                                              const ResctrlPlace& from, Kind kind) {
  TG_RETURN_IF_ERROR(checkNotMonitored(process, from));
  std::string name = fmt::format("tidegauge-{}", getpid());
  std::string path = kind == Kind::kMonitor ? below(from.control, "mon_groups/" + name) : name;
  if (int error_number = files.makeFolder(path); error_number != 0)
    return missingFeature(
        fmt::format("resctrl makes no group {}: {}", path,
                    error_number == ENOSPC ? "all that the processor has are in use"
                                           : std::strerror(error_number)),
        error_number == EACCES || error_number == EPERM
            ? "Run as root"
            : "`ls /sys/fs/resctrl /sys/fs/resctrl/mon_groups` lists them");
  ResctrlGroup group(files, path, below(from.control, "tasks"));
  TG_RETURN_IF_ERROR(group.take(process));
  return group;
}

ResctrlGroup::ResctrlGroup(ResctrlGroup&& other) noexcept
    : files_(other.files_), path_(std::exchange(other.path_, {})), home_(std::move(other.home_)) {}

// Threads that begin while others are moved inherit the group of the one that begins them.
base::Status ResctrlGroup::take(const Process& process) {
  std::set<pid_t> moved;
  for (bool is_any_new = true; is_any_new;) {
    is_any_new = false;
    TG_ASSIGN_OR_RETURN(std::vector<pid_t> threads, threadsOf(process, kWhat));
    for (pid_t thread : threads) {
      if (!moved.insert(thread).second) continue;
      is_any_new = true;
      int error_number = files_->write(path_ + "/tasks", fmt::format("{}\n", thread));
      if (error_number != 0 && error_number != ESRCH)  // it has just ended
        return missingFeature(
            fmt::format("thread {} of process {} cannot be moved to group {} of resctrl: {}",
                        thread, process.pid(), path_, std::strerror(error_number)),
            "");
    }
    if (moved.size() > kMaxThreads) break;
  }
  return base::okStatus();
}

ResctrlGroup::~ResctrlGroup() {
  if (path_.empty()) return;
  // Also those that they began since, until no new one appears. Who is left when the group is
  // removed falls to the group of control above a group of monitoring, and else to the default one.
  constexpr int kMaxRounds = 16;
  for (int round = 0; round < kMaxRounds; ++round) {
    std::string tasks = files_->read(path_ + "/tasks").value_or("");
    if (tasks.empty()) break;
    for (size_t at = 0; at < tasks.size();) {
      size_t end = std::min(tasks.find('\n', at), tasks.size());
      files_->write(home_, tasks.substr(at, end - at) + "\n");
      at = end + 1;
    }
  }
  files_->removeFolder(path_);
}

std::optional<uint64_t> ResctrlGroup::sumOf(const char* name) const {
  std::optional<uint64_t> sum;
  for (const std::string& domain : files_->list(path_ + "/mon_data")) {
    if (!domain.starts_with("mon_L3_")) continue;
    auto text = files_->read(fmt::format("{}/mon_data/{}/{}", path_, domain, name));
    auto value = text ? numberOf(*text) : std::nullopt;
    if (!value) return std::nullopt;
    sum = sum.value_or(0) + *value;
  }
  return sum;
}

// "    L3:0=fffff;1=fffff" among the lines of its schemata.
std::vector<std::pair<std::string, uint64_t>> waysOf(const ResctrlFiles& files,
                                                     const std::string& group) {
  std::vector<std::pair<std::string, uint64_t>> ways;
  std::string schemata = files.read(below(group, "schemata")).value_or("");
  std::string_view line = schemata;
  constexpr std::string_view kName = "L3:";
  while (!line.empty()) {
    std::string_view one = line.substr(0, line.find('\n'));
    line.remove_prefix(std::min(one.size() + 1, line.size()));
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (!one.starts_with(kName)) continue;
    one.remove_prefix(kName.size());
    while (!one.empty()) {
      std::string_view cache = one.substr(0, one.find(';'));
      one.remove_prefix(std::min(cache.size() + 1, one.size()));
      size_t equals = cache.find('=');
      if (equals == std::string_view::npos) continue;
      std::string_view mask = cache.substr(equals + 1);
      uint64_t value = 0;
      if (std::from_chars(mask.data(), mask.data() + mask.size(), value, 16).ec == std::errc())
        ways.emplace_back(cache.substr(0, equals), value);
    }
  }
  return ways;
}

base::Status ResctrlGroup::setWays(uint64_t mask) {
  std::string wanted = "L3:";
  for (const auto& [cache, unused] : waysOf(*files_, path_))
    wanted += fmt::format("{}{}={:x}", wanted.size() > 3 ? ";" : "", cache, mask);
  if (int error_number = files_->write(path_ + "/schemata", wanted + "\n"); error_number != 0)
    return missingFeature(
        fmt::format("resctrl does not take {}: {}", wanted, std::strerror(error_number)),
        base::printable(files_->read("info/last_cmd_status").value_or("")));
  return base::okStatus();
}

}  // namespace tidegauge::wss
