#include "wss/sampled_backend.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "wss/clear_refs.h"
#include "wss/costs.h"
#include "wss/kdamond.h"
#include "wss/read_maps.h"
#include "wss/read_tables.h"

namespace tidegauge::wss {
namespace {

constexpr int kPidfdOpen = 434, kProcessMadvise = 440, kMadvCold = 20;  // newer than some headers
// Ranges in one call: the process may map and unmap between two.
constexpr size_t kRangesOfACall = 32;
// Above 33 pages x86 flushes the whole TLB, and with it what it holds of files.
constexpr uint64_t kWide = 64 * kPage;

bool isSampled(const Mapping& mapping) {
  return !mapping.shared &&
         (mapping.kind == MappingKind::kAnonymous || mapping.kind == MappingKind::kHeap ||
          mapping.kind == MappingKind::kStack);
}

struct Range {
  uint64_t begin = 0, end = 0;
};

// What of the sample lies in mappings that are sampled, in order.
std::vector<Range> rangesOf(const Sample& sample, const std::vector<MappingUse>& uses) {
  std::vector<Range> ranges;
  size_t from = 0;
  for (const SamplePart& part : sample.parts) {
    uint64_t begin = part.table + part.first * kPage, end = begin + part.pages * kPage;
    while (from < uses.size() && uses[from].mapping.end <= begin) ++from;
    for (size_t i = from; i < uses.size() && uses[i].mapping.start < end; ++i)
      if (isSampled(uses[i].mapping))
        ranges.push_back(
            {std::max(begin, uses[i].mapping.start), std::min(end, uses[i].mapping.end)});
  }
  return ranges;
}

// Makes one so wide that the TLB is flushed for the files, too. False: there is none that can be.
bool widenOne(std::vector<Range>& ranges, const std::vector<MappingUse>& uses) {
  size_t at = 0;
  for (Range& range : ranges) {
    while (at < uses.size() && uses[at].mapping.end <= range.begin) ++at;
    if (at == uses.size()) return false;
    if (range.begin + kWide > uses[at].mapping.end) continue;
    range.end = std::max(range.end, range.begin + kWide);
    return true;
  }
  return false;
}

class PidDescriptor {
 public:
  explicit PidDescriptor(pid_t pid) : file_(static_cast<int>(syscall(kPidfdOpen, pid, 0))) {}
  ~PidDescriptor() {
    if (file_ >= 0) close(file_);
  }
  PidDescriptor(const PidDescriptor&) = delete;
  PidDescriptor& operator=(const PidDescriptor&) = delete;
  int get() const { return file_; }

 private:
  int file_;
};

// How many of the ranges were made cold before one that could not be; 0 with errno: it is the first.
size_t coldRanges(int target, std::span<const Range> ranges) {
  std::vector<iovec> call;
  for (const Range& range : ranges)
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of another process
    call.push_back({reinterpret_cast<void*>(range.begin), range.end - range.begin});
  long done = syscall(kProcessMadvise, target, call.data(), call.size(), kMadvCold, 0);
  size_t whole = 0;
  for (; whole < ranges.size() && done > 0; ++whole) {
    done -= static_cast<long>(ranges[whole].end - ranges[whole].begin);
    if (done < 0) break;
  }
  return whole;
}

// What a call of the kernel said: process_madvise came with Linux 5.10.
base::Error cannotSample(const Process& process, int error_number) {
  if (auto status = process.check(); !status.ok()) return std::move(status.error());
  if (process.thread() != process.pid())
    return {base::ErrorKind::kMissingFeature,
            fmt::format("process {} cannot be sampled: its first thread has ended", process.pid()),
            std::nullopt, "Take --sample exact"};
  bool may_not = error_number == EPERM || error_number == EACCES;
  bool is_thread = error_number == EINVAL || error_number == ENOENT;
  return {
      base::ErrorKind::kMissingFeature,
      fmt::format("process {} cannot be sampled: {}", process.pid(), std::strerror(error_number)),
      std::nullopt,
      may_not ? "That needs CAP_SYS_NICE beside CAP_SYS_PTRACE: run as root, or take --sample exact"
      : is_thread ? "It wants the number of a process's first thread; or take --sample exact"
                  : "It needs Linux 5.10; or take --sample exact"};
}

// How long the longest call took.
base::Result<int64_t> makeCold(const Process& process, std::span<const Range> ranges,
                               Clock& clock) {
  PidDescriptor target(process.pid());
  if (target.get() < 0) return cannotSample(process, errno);
  // The descriptor is of whoever has the number: of this process, if that is still there now.
  if (auto status = process.check(); !status.ok()) return std::move(status.error());
  int64_t longest_ns = 0;
  while (!ranges.empty()) {
    int64_t began_ns = clock.now_ns();
    errno = 0;
    size_t done = coldRanges(target.get(), ranges.first(std::min(ranges.size(), kRangesOfACall)));
    int why_not = errno;
    longest_ns = std::max(longest_ns, clock.now_ns() - began_ns);
    ranges = ranges.subspan(done);
    if (done > 0)
      continue;  // the one after those, if it could not be, is the first of the next call
    if (why_not == EINVAL)
      return base::Error{
          base::ErrorKind::kMissingFeature,
          fmt::format("process {} has locked memory, which cannot be sampled", process.pid()),
          std::nullopt, "Take --sample exact"};
    // What was unmapped meanwhile is no matter: nothing of it will be read.
    if (why_not != ENOMEM) return cannotSample(process, why_not);
    ranges = ranges.subspan(1);
  }
  return longest_ns;
}

void addScaled(MappingSums& sums, const MappingSums& part, double scale) {
  for (auto sum : {&MappingSums::rss, &MappingSums::referenced, &MappingSums::dirty,
                   &MappingSums::huge, &MappingSums::hugetlb, &MappingSums::swap})
    sums.*sum += static_cast<uint64_t>(static_cast<double>(part.*sum) * scale);
}

}  // namespace

std::string SampledBackend::how() const {
  return fmt::format(
      "a page in {} of private memory, all of files and shared memory; MADV_COLD, clear_refs, "
      "accessed "
      "bits of the page tables",
      rate_.oneIn());
}

std::vector<std::string> SampledBackend::limits() const {
  std::vector<std::string> limits{
      "a sample cannot clear memory that the process shares with one that it forked or was "
      "forked from, so all of that counts as touched: take --sample exact if it forks",
      "of huge pages that are mapped by parts (after mprotect of a part, say) the sampled ones "
      "are split"};
  for (std::string& limit : Kdamond::limitsOfOthers()) limits.push_back(std::move(limit));
  return limits;
}

std::optional<Cost> SampledBackend::predicted(uint64_t rss_bytes) const {
  return costOf(
      tablesFor(rss_bytes) / rate_.every * (kPartOfATable_ns + rate_.pages * kPageOfAPart_ns),
      kStallOfASample_ns);
}

base::Result<Clearing> SampledBackend::clear(const Process& process, Clock& clock) {
  Clearing done;
  int64_t cpu_ns = clock.cpu_ns();
  TG_ASSIGN_OR_RETURN(std::vector<MappingUse> uses, readMaps(process));
  // One that has something else too is looked at for both.
  TG_ASSIGN_OR_RETURN(std::vector<uint64_t> tables, usedTables(tables_, process, uses, isSampled));
  sample_ = chooseSample(tables, rate_, random_);
  std::vector<uint64_t> chosen;
  for (const SamplePart& part : sample_.parts) chosen.push_back(part.table);
  std::vector<page_table_kind> kinds;
  auto visit = [&](uint64_t, page_table_kind kind, Entries) { kinds.push_back(kind); };
  TG_ASSIGN_OR_RETURN(bool is_there,
                      tables_.read(process.thread(), chosen, PAGE_TABLE_KIND, visit));
  if (!is_there) return process.whyNothing("maps", 0);
  Sample to_clear{tables.size(), {}};
  for (size_t i = 0; i < kinds.size(); ++i) {
    SamplePart& part = sample_.parts[i];
    if (kinds[i] == PAGE_TABLE_HUGE || kinds[i] == PAGE_TABLE_GIANT) {
      part.first = 0;
      part.pages = PAGE_TABLE_ENTRIES;
    }
    if (kinds[i] == PAGE_TABLE_NONE || kinds[i] == PAGE_TABLE_NONE_NEAR) continue;
    to_clear.parts.push_back(part);
  }
  std::vector<Range> ranges = rangesOf(to_clear, uses);
  bool is_wide = widenOne(ranges, uses);
  done.pass.begin_ns = clock.now_ns();
  TG_ASSIGN_OR_RETURN(Clearing files, clearFiles(process, !is_wide, clock));
  TG_ASSIGN_OR_RETURN(int64_t longest_ns, makeCold(process, ranges, clock));
  done.pass.end_ns = clock.now_ns();
  done.cost = {clock.cpu_ns() - cpu_ns, std::max(files.cost.stall_ns, longest_ns)};
  return done;
}

base::Result<Reading> SampledBackend::read(const Process& process, Clock& clock) {
  Reading done;
  int64_t cpu_ns = clock.cpu_ns();
  done.pass.begin_ns = clock.now_ns();
  TG_ASSIGN_OR_RETURN(done.uses, readMaps(process));
  std::vector<uint64_t> chosen;
  for (const SamplePart& part : sample_.parts) chosen.push_back(part.table + part.first * kPage);
  std::vector<double> touched(sample_.parts.size());
  size_t at = 0;
  MappingWalk sampled(done.uses, isSampled);
  auto visit = [&](uint64_t address, page_table_kind kind, Entries entries) {
    const SamplePart& part = sample_.parts[at];
    bool is_whole = kind == PAGE_TABLE_HUGE || kind == PAGE_TABLE_GIANT;
    // A huge page that was split meanwhile is told by the pages that were read.
    uint32_t first = is_whole ? 0 : part.first;
    uint32_t pages = is_whole ? PAGE_TABLE_ENTRIES : rate_.pages;
    double of_table = static_cast<double>(PAGE_TABLE_ENTRIES) / pages;
    sampled.visit(address, kind, entries, first, first + pages,
                  [&](MappingUse& use, const MappingSums& sums, size_t, size_t) {
                    addScaled(use.sums, sums, of_table * rate_.every);
                    touched[at] += static_cast<double>(sums.referenced) * of_table;
                  });
    ++at;
  };
  TG_ASSIGN_OR_RETURN(bool is_there,
                      tables_.read(process.thread(), chosen, PAGE_TABLE_SOME, visit));
  auto isRest = [](const Mapping& mapping) { return !isSampled(mapping); };
  TG_ASSIGN_OR_RETURN(done.unread_bytes, readTables(tables_, process, done.uses, isRest));
  done.pass.end_ns = clock.now_ns();
  if (auto status = process.check(); !status.ok()) return std::move(status.error());
  if (!is_there) return process.whyNothing("maps", 0);
  double chance = 1.0 / rate_.oneIn();
  done.error_bytes = 1.96 * estimateOf(touched, kTable, rate_.every, chance).standard_error;
  done.rss_bytes = process.residentBytes();
  done.cost.cpu_ns = clock.cpu_ns() - cpu_ns;
  return done;
}

}  // namespace tidegauge::wss
