#include "wss/backends/kdamond.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <limits>

#include "wss/process/kernel_file.h"

namespace tidegauge::wss {
namespace {

constexpr const char* kKdamonds = "/sys/kernel/mm/damon/admin/kdamonds";
constexpr const char* kNumber = "/sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds";
// Parts of the kernel that use DAMON on their own.
constexpr const char* kUsers[] = {"damon_reclaim", "damon_lru_sort", "damon_stat"};
constexpr int64_t kSamples = 20;  // per interval, the kernel's default
// The kernel answers "busy" while it writes regions: for at most an interval.
constexpr int kSysfsTries = 300;
constexpr useconds_t kBetweenTries_us = 50'000;

// The first number of a text; 0 if there is none.
uint64_t numberIn(const base::Result<std::string>& text) {
  uint64_t number = 0;
  if (text.ok())
    std::from_chars(text.value().data(), text.value().data() + text.value().size(), number);
  return number;
}

int writeWhenFree(const std::string& path, std::string_view word) {
  int error_number = 0;
  for (int i = 0; i < kSysfsTries; ++i) {
    error_number = writeKernelFile(path, word);
    if (error_number != EBUSY) break;
    usleep(kBetweenTries_us);
  }
  return error_number;
}

base::Error watchesNoProcesses() {
  return missingFeature("the DAMON of this kernel does not watch processes",
                        "It needs a kernel built with CONFIG_DAMON_VADDR");
}

}  // namespace

base::Status Kdamond::tryIt() {
  TG_RETURN_IF_ERROR(check());
  auto started = start(getpid(), 100'000'000);
  return started.ok() ? base::okStatus() : base::Status(std::move(started.error()));
}

base::Status Kdamond::check(const std::string& root) {
  if (access((root + kKdamonds).c_str(), F_OK) != 0 && errno == ENOENT)
    return missingFeature("this kernel has no DAMON that can be controlled through /sys",
                          "It needs Linux 6.2 or later, built with CONFIG_DAMON_SYSFS and "
                          "CONFIG_DAMON_VADDR");
  TG_ASSIGN_OR_RETURN(std::string number, readKernelFile(root + kNumber));
  if (number != "0")
    return missingFeature(
        fmt::format("DAMON is in use: {} says {}", kNumber, number),
        "The kernel has one DAMON configuration, and another program uses it. Use --backend pte "
        "or smaps");
  for (const char* user : kUsers) {
    auto enabled = readKernelFile(fmt::format("{}/sys/module/{}/parameters/enabled", root, user));
    if (enabled.ok() && enabled.value() == "Y")
      return missingFeature(fmt::format("DAMON is in use: {} is enabled", user),
                            "wss does not interrupt it. Use --backend pte or smaps");
  }
  return base::okStatus();
}

bool Kdamond::isOthersAtWork(const std::string& root) {
  auto is = [](const base::Result<std::string>& text, std::string_view what) {
    return text.ok() && text.value() == what;
  };
  for (const char* user : kUsers)
    if (is(readKernelFile(fmt::format("{}/sys/module/{}/parameters/enabled", root, user)), "Y"))
      return true;
  auto number = readKernelFile(root + kNumber);
  if (!number.ok()) return false;
  int count = 0;
  std::from_chars(number.value().data(), number.value().data() + number.value().size(), count);
  constexpr int kMost = 1024;
  for (int i = 0; i < std::min(count, kMost); ++i)
    if (is(readKernelFile(fmt::format("{}/sys/kernel/mm/damon/admin/kdamonds/{}/state", root, i)),
           "on"))
      return true;
  return false;
}

std::vector<std::string> Kdamond::limitsOfOthers() {
  if (!isOthersAtWork()) return {};
  return {
      "DAMON runs on this machine and clears accessed bits. Pages that it sampled during the "
      "window, mostly huge pages, may be missing. --backend smaps includes them"};
}

base::Result<std::unique_ptr<Kdamond>> Kdamond::start(pid_t pid, int64_t interval_ns,
                                                      const std::string& root) {
  TG_RETURN_IF_ERROR(check(root));
  int lock = open((root + kNumber).c_str(), O_RDONLY | O_CLOEXEC);
  bool is_locked = lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0;
  auto again = check(root);  // another instance may have been faster
  if (!is_locked || !again.ok()) {
    if (lock >= 0) close(lock);
    if (!again.ok()) return std::move(again.error());
    return missingFeature(fmt::format("DAMON is in use: {} is locked", kNumber), "Try again later");
  }
  if (auto status = setKernelFile(root + kNumber, "1"); !status.ok()) {
    close(lock);
    return std::move(status.error());
  }
  std::unique_ptr<Kdamond> kdamond(new Kdamond(pid, lock, root));
  TG_RETURN_IF_ERROR(kdamond->configure(interval_ns));
  // Without CONFIG_DAMON_VADDR the kernel accepts the name of these operations, and then rejects
  // this (seen on Linux 6.18).
  int error_number = writeWhenFree(kdamond->file("state"), "on");
  if (error_number == EINVAL) return watchesNoProcesses();
  if (error_number != 0) TG_RETURN_IF_ERROR(kdamond->order("on"));
  return kdamond;
}

Kdamond::~Kdamond() {
  if (isOurs()) {
    // It may have ended on its own, with the process: then it rejects this.
    writeWhenFree(file("state"), "off");
    writeWhenFree(root_ + kNumber, "0");
  }
  close(lock_);
}

std::string Kdamond::file(const char* name) const {
  return fmt::format("{}{}/0/{}", root_, kKdamonds, name);
}

base::Status Kdamond::set(const char* name, const std::string& value) const {
  return setKernelFile(file(name), value);
}

base::Status Kdamond::order(const char* word) const {
  int error_number = writeWhenFree(file("state"), word);
  return error_number == 0 ? base::okStatus() : setKernelFile(file("state"), word);
}

// A kdamond that another program put in its place watches another process, or none.
bool Kdamond::isOurs() const {
  if (numberIn(readKernelFile(root_ + kNumber)) != 1) return false;
  auto pid = readKernelFile(file("contexts/0/targets/0/pid_target"));
  return pid.ok() ? numberIn(pid) == static_cast<uint64_t>(pid_) : !is_named_;
}

base::Status Kdamond::configure(int64_t interval_ns) {
  TG_RETURN_IF_ERROR(set("contexts/nr_contexts", "1"));
  if (!set("contexts/0/operations", "vaddr").ok()) return watchesNoProcesses();
  TG_RETURN_IF_ERROR(setIntervals(interval_ns));
  TG_RETURN_IF_ERROR(set("contexts/0/targets/nr_targets", "1"));
  TG_RETURN_IF_ERROR(set("contexts/0/targets/0/pid_target", fmt::format("{}", pid_)));
  is_named_ = true;
  // Regions need a scheme: one for regions touched at least once, that only counts.
  TG_RETURN_IF_ERROR(set("contexts/0/schemes/nr_schemes", "1"));
  TG_RETURN_IF_ERROR(set("contexts/0/schemes/0/action", "stat"));
  const std::string most = fmt::format("{}", std::numeric_limits<uint32_t>::max());
  TG_RETURN_IF_ERROR(set("contexts/0/schemes/0/access_pattern/sz/max",
                         fmt::format("{}", std::numeric_limits<uint64_t>::max())));
  TG_RETURN_IF_ERROR(set("contexts/0/schemes/0/access_pattern/nr_accesses/min", "1"));
  TG_RETURN_IF_ERROR(set("contexts/0/schemes/0/access_pattern/nr_accesses/max", most));
  return set("contexts/0/schemes/0/access_pattern/age/max", most);
}

base::Status Kdamond::setIntervals(int64_t interval_ns) const {
  int64_t interval_us = interval_ns / 1000;
  TG_RETURN_IF_ERROR(set("contexts/0/monitoring_attrs/intervals/sample_us",
                         fmt::format("{}", interval_us / kSamples)));
  TG_RETURN_IF_ERROR(
      set("contexts/0/monitoring_attrs/intervals/aggr_us", fmt::format("{}", interval_us)));
  // How often it checks where the process has memory.
  return set("contexts/0/monitoring_attrs/intervals/update_us",
             fmt::format("{}", std::max<int64_t>(interval_us, 1'000'000)));
}

base::Status Kdamond::setInterval(int64_t interval_ns) {
  TG_RETURN_IF_ERROR(setIntervals(interval_ns));
  return order("commit");
}

base::Result<std::vector<DamonRegion>> Kdamond::regions() {
  TG_RETURN_IF_ERROR(order("update_schemes_tried_regions"));
  std::vector<DamonRegion> regions;
  std::error_code why_not;
  namespace fs = std::filesystem;
  std::string folder = file("contexts/0/schemes/0/tried_regions");
  for (fs::directory_iterator entry(folder, why_not), end; !why_not && entry != end;
       entry.increment(why_not)) {
    auto start = readKernelFile(entry->path() / "start");  // not total_bytes, a file beside them
    if (start.ok())
      regions.push_back({numberIn(start), numberIn(readKernelFile(entry->path() / "end"))});
  }
  if (why_not)
    return base::Error{base::ErrorKind::kMissingFeature,
                       fmt::format("{} cannot be listed: {}", folder, why_not.message()),
                       std::nullopt, "It needs Linux 6.2 or later"};
  std::ranges::sort(regions, {}, &DamonRegion::start);
  return regions;
}

int64_t Kdamond::cpu_ns() const {
  auto pid = readKernelFile(file("pid"));
  if (!pid.ok()) return 0;
  return static_cast<int64_t>(
      numberIn(readKernelFile(fmt::format("{}/proc/{}/schedstat", root_, pid.value()))));
}

}  // namespace tidegauge::wss
