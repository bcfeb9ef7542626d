#include "wss/backends/mglru_backend.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "wss/backends/clear_refs.h"
#include "wss/pages/own_page.h"
#include "wss/process/kernel_file.h"

namespace tidegauge::wss {
namespace {

constexpr const char* kEnabled = "/sys/kernel/mm/lru_gen/enabled";
constexpr const char* kLruGenFile = "/sys/kernel/debug/lru_gen";
// Bits of the kernel's file: generations are kept; page tables are walked to age them.
constexpr uint64_t kKept = 1, kWalked = 2;
// The kernel keeps four: another aging would merge the oldest with what was touched.
constexpr uint64_t kMaxAgings = 3;
constexpr int kLruTries = 5;

}  // namespace

base::Status MglruBackend::check(const std::string& root) {
  auto enabled = readKernelFile(root + kEnabled);
  if (!enabled.ok())
    return missingFeature("this kernel has no generations of pages (MGLRU)",
                          "It needs Linux 6.1 or later, built with CONFIG_LRU_GEN");
  const std::string& text = enabled.value();
  uint64_t bits = 0;
  size_t digits = text.starts_with("0x") ? 2 : 0;
  std::from_chars(text.data() + digits, text.data() + text.size(), bits, 16);
  if ((bits & (kKept | kWalked)) != (kKept | kWalked))
    return missingFeature(
        fmt::format("generations of pages are switched off: {} says {}", kEnabled, text),
        fmt::format("Write y to this file; it changes how the kernel reclaims memory"));
  if (access((root + kLruGenFile).c_str(), R_OK | W_OK) == 0) return base::okStatus();
  if (errno == EACCES || errno == EPERM)
    return missingFeature(fmt::format("only root can read {}", kLruGenFile), "Run as root");
  return missingFeature(fmt::format("there is no {}", kLruGenFile),
                        "As root, mount -t debugfs debugfs /sys/kernel/debug; the kernel needs "
                        "CONFIG_DEBUG_FS");
}

base::Result<MglruBackend> MglruBackend::open(const Process& process, Flush flush,
                                              const std::string& root) {
  TG_RETURN_IF_ERROR(check(root));
  TG_ASSIGN_OR_RETURN(int file, process.openFile("cgroup", O_RDONLY));
  int error_number = 0;
  std::string path = memoryCgroup(readAll(file, size_t{1} << 20, error_number));
  close(file);
  if (error_number != 0) return process.whyNothing("cgroup", error_number);
  if (path.empty()) path.push_back('/');  // a kernel without cgroups counts all memory in one
  TG_ASSIGN_OR_RETURN(std::string table, readKernelFile(root + kLruGenFile));
  std::vector<LruGroup> groups = parseLruGen(table);
  const LruGroup* group = findGroup(groups, path);
  if (group == nullptr)
    return missingFeature(fmt::format("{} does not list cgroup {} of process {}, nor one above it",
                                      kLruGenFile, path, process.pid()),
                          "Run outside of containers, which see other paths of cgroups");
  return MglruBackend(root, group->id, group->path, flush);
}

std::string MglruBackend::how() const {
  return "the kernel's generations of pages (MGLRU), aged before and after" + wordsOf(flush_);
}

std::vector<std::string> MglruBackend::limits() const {
  std::vector<std::string> limits{
      "these figures are sums of the cgroup: all its processes and its page cache, each page "
      "counted once; pages that are charged to other cgroups, mostly libraries, are missing",
      "if memory becomes short, the kernel first reclaims pages that were not touched in these "
      "windows"};
  if (flush_ == Flush::kNone)
    limits.emplace_back(
        "the TLB is not flushed: what a busy core touches all the time can be missed, up to what "
        "its TLB holds (commonly 6 to 12 MiB of 4 KiB pages)");
  return limits;
}

base::Result<LruGroup> MglruBackend::look() const {
  TG_ASSIGN_OR_RETURN(std::string text, readKernelFile(root_ + kLruGenFile));
  for (LruGroup& group : parseLruGen(text))
    if (group.id == id_ && group.path == traits().cgroup) return std::move(group);
  return base::Error{base::ErrorKind::kUnreadable,
                     fmt::format("cgroup {} was removed during the measurement", traits().cgroup),
                     std::nullopt, ""};
}

base::Result<LruGroup> MglruBackend::age() const {
  TG_ASSIGN_OR_RETURN(LruGroup group, look());
  for (const LruNode& node : group.nodes) {
    uint64_t youngest = node.generations.back().number;
    // "+ cgroup node generation", private memory too, all of its page tables. A generation that is
    // no longer the youngest is refused or ignored: the kernel has just aged on its own.
    for (int i = 0;; ++i) {
      std::string order = fmt::format("+ {} {} {} 1 1", id_, node.node, youngest);
      int error_number = writeKernelFile(root_ + kLruGenFile, order);
      if (error_number == 0) break;
      if (error_number != EINVAL || i == kLruTries) {
        TG_RETURN_IF_ERROR(setKernelFile(root_ + kLruGenFile, order));  // again, for its error
        break;
      }
      TG_ASSIGN_OR_RETURN(LruGroup now, look());
      for (const LruNode& other : now.nodes)
        if (other.node == node.node) youngest = other.generations.back().number;
    }
  }
  return look();
}

base::Result<Clearing> MglruBackend::clear(const Process& process, Clock& clock) {
  Clearing done;
  int64_t cpu_ns = clock.cpu_ns();
  drainLists();  // later pages get the youngest generation
  done.pass.begin_ns = clock.now_ns();
  TG_ASSIGN_OR_RETURN(LruGroup group, age());
  done.pass.end_ns = clock.now_ns();
  marks_.clear();
  for (const LruNode& node : group.nodes)
    marks_.push_back({node.node, node.generations.back().number});
  TG_RETURN_IF_ERROR(process.check());
  done.cost.stall_ns = done.pass.duration_ns();
  TG_ASSIGN_OR_RETURN(Clearing flushed, flushTlb(process, flush_, clock));
  add(done, flushed);
  done.cost.cpu_ns = clock.cpu_ns() - cpu_ns;
  return done;
}

base::Result<Reading> MglruBackend::read(const Process& process, Clock& clock) {
  Reading done;
  int64_t cpu_ns = clock.cpu_ns();
  done.pass.begin_ns = clock.now_ns();
  TG_ASSIGN_OR_RETURN(LruGroup group, age());
  done.pass.end_ns = clock.now_ns();
  TG_RETURN_IF_ERROR(process.check());
  auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  MappingUse anonymous, files;
  anonymous.mapping.path = files.mapping.path = "cgroup " + traits().cgroup;
  files.mapping.kind = MappingKind::kFile;
  for (const LruNode& node : group.nodes) {
    auto mark = std::ranges::find(marks_, node.node, &Mark::node);
    if (mark == marks_.end()) continue;  // memory that was added meanwhile
    if (node.generations.back().number > mark->first_young + kMaxAgings - 1)
      return base::Error{
          base::ErrorKind::kUnreadable,
          fmt::format(
              "the kernel aged the pages of cgroup {} during the window, because its memory is "
              "short, so the touched pages are unknown",
              traits().cgroup),
          std::nullopt, "Use a shorter window, or --backend smaps"};
    for (const Generation& generation : node.generations) {
      bool is_young = generation.number >= mark->first_young;
      auto add = [&](MappingSums& sums, uint64_t pages) {
        sums.rss += pages * page;
        if (is_young) sums.referenced += pages * page;
      };
      add(anonymous.sums, generation.anonymous_pages);
      add(files.sums, generation.file_pages);
    }
  }
  done.in_order = false;
  done.uses = {std::move(anonymous), std::move(files)};
  done.cost = {clock.cpu_ns() - cpu_ns, done.pass.duration_ns()};
  return done;
}

}  // namespace tidegauge::wss
