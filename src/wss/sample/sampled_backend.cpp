#include "wss/sample/sampled_backend.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "wss/backends/clear_refs.h"
#include "wss/backends/costs.h"
#include "wss/backends/kdamond.h"
#include "wss/pages/read_maps.h"
#include "wss/pte/make_cold.h"
#include "wss/pte/read_tables.h"
#include "wss/pte/wide_flush.h"

namespace tidegauge::wss {
namespace {

// The parts of the sample in sampled mappings, in order.
std::vector<AddressRange> rangesOf(const Sample& sample, const std::vector<MappingUse>& uses) {
  std::vector<AddressRange> ranges;
  size_t from = 0;
  for (const SamplePart& part : sample) {
    uint64_t begin = part.table + part.first * kPage, end = begin + part.pages * kPage;
    while (from < uses.size() && uses[from].mapping.end <= begin) ++from;
    for (size_t i = from; i < uses.size() && uses[i].mapping.start < end; ++i)
      if (isPrivateMemory(uses[i].mapping))
        ranges.push_back(
            {std::max(begin, uses[i].mapping.start), std::min(end, uses[i].mapping.end)});
  }
  return ranges;
}

bool haveSameRanges(const std::vector<MappingUse>& uses, std::span<const AddressRange> ranges) {
  size_t at = 0;
  for (const MappingUse& use : uses) {
    if (!isPrivateMemory(use.mapping)) continue;
    if (at == ranges.size() || ranges[at].begin != use.mapping.start ||
        ranges[at].end != use.mapping.end)
      return false;
    ++at;
  }
  return at == ranges.size();
}

std::vector<uint64_t> addressesOf(const Sample& sample) {
  std::vector<uint64_t> addresses;
  for (const SamplePart& part : sample) addresses.push_back(part.table + part.first * kPage);
  return addresses;
}

void addScaled(MappingSums& sums, const MappingSums& part, double scale) {
  for (auto sum : {&MappingSums::rss, &MappingSums::referenced, &MappingSums::dirty,
                   &MappingSums::huge, &MappingSums::hugetlb, &MappingSums::swap})
    sums.*sum += static_cast<uint64_t>(static_cast<double>(part.*sum) * scale);
}

}  // namespace

SampledBackend::SampledBackend(PageTables tables, SampleRate rate, Flush flush, uint64_t seed)
    : Backend({.knows_sharing = false}),
      tables_(std::move(tables)),
      rate_(rate),
      flush_(flush),
      random_(seed) {
  auto processors = static_cast<uint64_t>(std::max(sysconf(_SC_NPROCESSORS_CONF), 1L));
  not_in_bytes_ = std::max<uint64_t>(32, 2 * processors) * processors * kPage;
}

std::string SampledBackend::how() const {
  return fmt::format(
      "a page in {} of private memory, all of files and shared memory; "
      "MADV_COLD, clear_refs, accessed bits of the page tables",
      rate_.oneIn());
}

std::vector<std::string> SampledBackend::limits() const {
  std::vector<std::string> limits{
      "a sample cannot clear memory that the process shares with its parent or its forked "
      "children, so earlier accesses to it count as touched; use --sample exact if the process "
      "forks",
      "of huge pages that are mapped by parts (after "
      "mprotect of a part, say) the sampled ones are split",
      "memory that was moved in the window (mremap, so realloc of large blocks) "
      "cannot be judged; moves of less than some 4 MiB at once are not in +- either",
      "the resident size of a mapping comes from the sample, too"};
  if (flush_ == Flush::kNone)
    limits.emplace_back(
        "this kernel tracks soft-dirty pages, so the TLB is flushed by way of private memory that "
        "was touched: of a process that touches none, small files in steady use can be missed");
  if (kIsArm64) limits.emplace_back(kUntestedOnArm64);
  for (std::string& limit : Kdamond::limitsOfOthers()) limits.push_back(std::move(limit));
  return limits;
}

std::optional<Cost> SampledBackend::predicted(const Resident& resident, size_t mappings) const {
  double shared_pages = pagesOf(resident.shared_bytes);
  double parts = tablesFor(resident.bytes - resident.shared_bytes) / rate_.every;
  return costOf(parts * (kPartOfATable_ns + rate_.pages * kPageOfAPart_ns) +
                    shared_pages * kClearOfAPage_ns +
                    tablesFor(resident.shared_bytes) * kReadOfATable_ns,
                kStallOfASample_ns + shared_pages * kClearOfAPage_ns, kMappingBySample, mappings);
}

base::Result<Clearing> SampledBackend::clear(const Process& process, Clock& clock) {
  Clearing done{.is_sampled_by_others = Kdamond::isOthersAtWork()};
  int64_t cpu_ns = clock.cpu_ns();
  TG_ASSIGN_OR_RETURN(std::vector<MappingUse> uses, readMaps(process));
  // A table that also contains something else is examined for both.
  TG_ASSIGN_OR_RETURN(empty_, emptyGiants(tables_, process, uses, isPrivateMemory));
  TableRuns now = tablesOf(uses, isPrivateMemory, empty_);
  if (known_.empty()) {
    sample_ = chooseSample(now, rate_, random_);
  } else {
    std::erase_if(sample_, [&](const SamplePart& part) { return !now.has(part.table); });
    addToSample(now);
  }
  known_ = std::move(now);
  new_ = {};
  gone_bytes_ = 0;
  mapped_.clear();
  for (const MappingUse& use : uses)
    if (isPrivateMemory(use.mapping)) mapped_.push_back({use.mapping.start, use.mapping.end});
  // Untouched parts need not be cleared: after the first window, most are.
  Sample to_clear;
  TableRuns touched;
  uncleared_.begin();
  pages_there_.assign(sample_.size(), 0);
  size_t at = 0;
  auto visit = [&](uint64_t table, page_table_kind kind, Entries entries) {
    uint32_t& pages_there = pages_there_[at];
    SamplePart part = sample_[at++];
    auto pages = entries.subspan(part.first, part.pages);
    if (kind == PAGE_TABLE_HUGE || kind == PAGE_TABLE_GIANT) {
      pages = entries.first(1);
      pages_there = isThere(pages[0]) ? part.pages : 0;
      part.first = 0;
      part.pages = PAGE_TABLE_ENTRIES;
    } else if (kind == PAGE_TABLE_OF_PAGES) {
      pages_there = static_cast<uint32_t>(std::ranges::count_if(pages, isThere));
    } else {
      return;
    }
    if (!std::ranges::any_of(pages, isTouched)) return;
    to_clear.push_back(part);
    uncleared_.look(table, kind, entries, part.first, part.first + part.pages);
    if (kind == PAGE_TABLE_OF_PAGES) touched.add(table, table + kTable);
  };
  done.pass.begin_ns = clock.now_ns();
  TG_ASSIGN_OR_RETURN(bool is_there,
                      tables_.read(process.thread(), addressesOf(sample_), rate_.part(), visit));
  if (!is_there) return process.whyNothing("maps", 0);
  std::vector<AddressRange> locked;
  TG_ASSIGN_OR_RETURN(bool is_flushed,
                      clearSample(process, to_clear, uses, clock, done.cost, locked));
  // Only now is every touch of a file seen, too.
  Clearing flushed;
  if (!is_flushed) {
    TG_ASSIGN_OR_RETURN(flushed, flush(process, touched, uses, clock));
  }
  add(done, flushed);
  done.pass.end_ns = clock.now_ns();
  auto lookAgain = [&](uint64_t table, page_table_kind kind, Entries entries) {
    uncleared_.lookAgain(table, kind, entries);
  };
  TG_ASSIGN_OR_RETURN(
      is_there, tables_.read(process.thread(), addressesOf(to_clear), rate_.part(), lookAgain));
  if (!is_there) return process.whyNothing("maps", 0);
  uncleared_.keep(process, locked);
  done.cost.cpu_ns = clock.cpu_ns() - cpu_ns;
  return done;
}

// All files and shared memory, and the sample of the rest. Returns whether that also flushed the
// whole TLB.
base::Result<bool> SampledBackend::clearSample(const Process& process, const Sample& sample,
                                               const std::vector<MappingUse>& uses, Clock& clock,
                                               Cost& cost, std::vector<AddressRange>& locked) {
  TG_ASSIGN_OR_RETURN(Clearing files, clearFiles(process, clock));
  std::vector<AddressRange> ranges = rangesOf(sample, uses);
  TG_ASSIGN_OR_RETURN(ColdAndFlush done,
                      makeColdAndFlush(tables_, process, ranges, uses, isPrivateMemory, clock));
  auto bytesOf = [](const std::vector<AddressRange>& all) {
    uint64_t bytes = 0;
    for (const AddressRange& range : all) bytes += range.end - range.begin;
    return bytes;
  };
  // A small part is reported as not cleared.
  if (bytesOf(done.made.locked) > bytesOf(ranges) / 2)
    return base::Error{
        base::ErrorKind::kMissingFeature,
        fmt::format("process {} has locked memory, which wss cannot sample", process.pid()),
        std::nullopt, "Use --sample exact"};
  locked = std::move(done.made.locked);
  cost.stall_ns = std::max({cost.stall_ns, files.cost.stall_ns, done.made.longest_ns});
  return done.is_flushed;
}

base::Result<Clearing> SampledBackend::flush(const Process& process, const TableRuns& touched,
                                             const std::vector<MappingUse>& uses, Clock& clock) {
  TG_ASSIGN_OR_RETURN(WideFlush wide,
                      flushWide(tables_, process, touched, uses, isPrivateMemory, clock));
  // None of the sample: with so few tables, a small process has touched ones elsewhere, a large one
  // at both ends.
  if (!wide.is_done) {
    TG_ASSIGN_OR_RETURN(wide, flushWide(tables_, process, known_, uses, isPrivateMemory, clock));
  }
  Clearing done{.cost = {0, wide.stall_ns}, .is_flushed = wide.is_done};
  if (!wide.is_done) {
    TG_ASSIGN_OR_RETURN(Clearing flushed, flushTlb(process, flush_, clock));
    add(done, flushed);
  }
  return done;
}

// One part of each group of new tables.
TableRuns SampledBackend::addToSample(const TableRuns& now) {
  TableRuns more = now.without(known_);
  auto before = static_cast<ptrdiff_t>(sample_.size());
  std::ranges::move(chooseSample(more, rate_, random_), std::back_inserter(sample_));
  std::ranges::inplace_merge(sample_, sample_.begin() + before, {}, &SamplePart::table);
  return more;
}

// Memory mapped meanwhile is sampled as well: new memory is touched, and nothing had to be cleared.
// But memory that was moved there (mremap) brought its bits along: at most as much as is gone
// elsewhere.
base::Status SampledBackend::sampleNew(const Process& process,
                                       const std::vector<MappingUse>& uses) {
  if (haveSameRanges(uses, mapped_)) {
    // Places with memory at the clearing are known: only the others can have new memory.
    TG_ASSIGN_OR_RETURN(std::vector<uint64_t> empty, emptyOf(tables_, process, empty_));
    if (empty == empty_) return base::okStatus();
  }
  TG_ASSIGN_OR_RETURN(std::vector<uint64_t> empty,
                      emptyGiants(tables_, process, uses, isPrivateMemory));
  TableRuns now = tablesOf(uses, isPrivateMemory, empty);
  gone_bytes_ = 0;
  for (size_t i = 0, at = 0; i < sample_.size(); ++i) {
    const SamplePart& part = sample_[i];
    if (new_.has(part.table)) continue;
    uint32_t pages_there = pages_there_[at++];
    if (!now.has(part.table))
      gone_bytes_ += kTable * rate_.every * static_cast<double>(pages_there) / part.pages;
  }
  TableRuns more = addToSample(now);
  known_ = known_.with(more);
  new_ = new_.with(more);
  return base::okStatus();
}

// Fully examined memory is exact: a sample is off by no more than the size of the rest, or than it
// was estimated to be.
double SampledBackend::mostSampledBytes(const Resident& resident,
                                        const std::vector<MappingUse>& uses) const {
  uint64_t addresses_bytes = 0;
  for (const MappingUse& use : uses)
    if (isPrivateMemory(use.mapping)) addresses_bytes += use.mapping.end - use.mapping.start;
  uint64_t resident_bytes =
      resident.bytes - std::min(resident.bytes, resident.shared_bytes) + not_in_bytes_;
  return static_cast<double>(std::min(addresses_bytes, resident_bytes));
}

base::Result<Reading> SampledBackend::read(const Process& process, Clock& clock) {
  Reading done;
  int64_t cpu_ns = clock.cpu_ns();
  done.pass.begin_ns = clock.now_ns();
  TG_ASSIGN_OR_RETURN(done.uses, readMaps(process));
  TG_RETURN_IF_ERROR(sampleNew(process, done.uses));
  std::vector<uint64_t> chosen = addressesOf(sample_);
  std::vector<double> touched(sample_.size());
  size_t at = 0;
  uint64_t unread_bytes = 0;
  double uncleared_bytes = 0, new_bytes = 0;
  MappingWalk sampled(done.uses, isPrivateMemory);
  auto visit = [&](uint64_t address, page_table_kind kind, Entries entries) {
    const SamplePart& part = sample_[at];
    if (kind == PAGE_TABLE_FAILED) unread_bytes += kTable * rate_.every;
    bool is_whole = kind == PAGE_TABLE_HUGE || kind == PAGE_TABLE_GIANT;
    // A huge page that was split meanwhile is represented by the pages that were read.
    uint32_t first = is_whole ? 0 : part.first;
    uint32_t pages = is_whole ? PAGE_TABLE_ENTRIES : rate_.pages;
    double of_table = static_cast<double>(PAGE_TABLE_ENTRIES) / pages;
    bool is_new = new_.has(address);
    sampled.visit(address, kind, entries, first, first + pages,
                  [&](MappingUse& use, const MappingSums& sums, size_t from, size_t to) {
                    addScaled(use.sums, sums, of_table * rate_.every);
                    if (sums.referenced == 0) return;
                    auto bytes = static_cast<double>(sums.referenced) * of_table;
                    touched[at] += bytes;
                    if (is_new) {
                      new_bytes += bytes * rate_.every;
                    } else {
                      uncleared_bytes += uncleared_.bytesOf(address, kind, entries, from, to,
                                                            kPage * of_table * rate_.every);
                    }
                  });
    ++at;
  };
  TG_ASSIGN_OR_RETURN(bool is_there, tables_.read(process.thread(), chosen, rate_.part(), visit));
  auto isRest = [](const Mapping& mapping) { return !isPrivateMemory(mapping); };
  TG_ASSIGN_OR_RETURN(done.unread_bytes, readTables(tables_, process, done.uses, isRest));
  done.unread_bytes += unread_bytes;
  done.pass.end_ns = clock.now_ns();
  TG_ASSIGN_OR_RETURN(Resident resident, process.checkedResident());
  if (!is_there) return process.whyNothing("maps", 0);
  double chance = 1.0 / rate_.oneIn();
  uncleared_bytes += std::min(new_bytes, gone_bytes_);
  done.uncleared_bytes = static_cast<uint64_t>(uncleared_bytes);
  double estimated_bytes = rate_.every * std::accumulate(touched.begin(), touched.end(), 0.0);
  double most_bytes = std::max(estimated_bytes, mostSampledBytes(resident, done.uses));
  done.error_bytes =
      std::min(halfIntervalOf(touched, kTable, rate_.every, chance) + uncleared_bytes, most_bytes);
  done.in_order = false;  // private memory and the rest have separate passes
  done.rss_bytes = resident.bytes;
  done.cost.cpu_ns = clock.cpu_ns() - cpu_ns;
  return done;
}

}  // namespace tidegauge::wss
