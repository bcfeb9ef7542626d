#include "wss/pages/pagemap.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "wss/pages/page_bits.h"

namespace tidegauge::wss {
namespace {

constexpr size_t kEntriesOfARead = 1 << 16;
// Holes of fewer pages are read with what is around them: a read costs as much as some hundred
// entries.
constexpr uint64_t kShortHole = 512 * kPage;

// Of linux/fs.h as of Linux 6.7, newer than some headers.
struct PageRegion {
  uint64_t start = 0, end = 0, categories = 0;
};
struct ScanArguments {
  uint64_t size = sizeof(ScanArguments), flags = 0, start = 0, end = 0, walk_end = 0, regions = 0,
           region_count = 0, most_pages = 0, inverted = 0, all_of = 0, any_of = 0, told = 0;
};
constexpr uint64_t kIsPresent = 1 << 3, kIsSwapped = 1 << 4, kIsZeros = 1 << 5;
constexpr unsigned long kScan = _IOWR('f', 16, ScanArguments);

// As eachRangeThere; ENOTTY: this kernel does not know it.
int scan(const WordFile& pagemap, const Mapping& mapping, bool swapped,
         const std::function<void(AddressRange)>& visit) {
  std::array<PageRegion, 1024> regions;
  ScanArguments arguments;
  arguments.end = mapping.end;
  arguments.regions = reinterpret_cast<uint64_t>(regions.data());
  arguments.region_count = regions.size();
  arguments.inverted = arguments.all_of = kIsZeros;
  arguments.any_of = kIsPresent | (swapped ? kIsSwapped : 0);
  for (arguments.start = mapping.start; arguments.start < mapping.end;) {
    int found = ioctl(pagemap.get(), kScan, &arguments);
    if (found < 0 && errno == EINTR) continue;
    if (found < 0) return -errno;
    uint64_t done = arguments.walk_end;
    for (const PageRegion& region : std::span(regions).first(static_cast<size_t>(found))) {
      visit({region.start, region.end});
      // Linux 6.18 says it came less far than that when the last place was just filled.
      done = std::max(done, region.end);
    }
    if (done <= arguments.start) break;  // the process is gone
    arguments.start = done;
  }
  return 0;
}

// The entries of a range of pages, some at a time, with the address of the first.
int readEntries(const WordFile& pagemap, AddressRange range, std::vector<uint64_t>& entries,
                const std::function<void(uint64_t, std::span<const uint64_t>)>& visit) {
  entries.resize(kEntriesOfARead);
  uint64_t at = range.begin / kPage, end = range.end / kPage;
  while (at < end) {
    ssize_t got =
        pagemap.read(std::span(entries).first(std::min<uint64_t>(entries.size(), end - at)), at);
    if (got < 0) return -errno;
    if (got == 0) break;
    visit(at * kPage, std::span(entries).first(static_cast<size_t>(got)));
    at += static_cast<uint64_t>(got);
  }
  return 0;
}

}  // namespace

WordFile::~WordFile() {
  if (file_ >= 0) close(file_);
}

ssize_t WordFile::read(std::span<uint64_t> words, uint64_t first) const {
  ssize_t got = 0;
  do got = pread(file_, words.data(), words.size_bytes(), static_cast<off_t>(first * 8));
  while (got < 0 && errno == EINTR);
  return got < 0 ? got : got / 8;
}

int eachRangeThere(const WordFile& pagemap, const Mapping& mapping, bool swapped,
                   const std::function<void(AddressRange)>& visit) {
  int scanned = scan(pagemap, mapping, swapped, visit);
  if (scanned != -ENOTTY && scanned != -EINVAL) return scanned;
  uint64_t wanted = kPagemapPresent | (swapped ? kPagemapSwapped : 0);
  std::vector<uint64_t> entries;
  return readEntries(pagemap, {mapping.start, mapping.end}, entries,
                     [&](uint64_t address, std::span<const uint64_t> some) {
                       for (size_t i = 0; i < some.size();) {
                         size_t first = i;
                         while (i < some.size() && (some[i] & wanted) != 0) ++i;
                         if (i > first) visit({address + first * kPage, address + i * kPage});
                         i += i == first;
                       }
                     });
}

base::Status readPagemap(const Process& process, const std::vector<MappingUse>& uses,
                         const std::function<void(size_t, std::span<const uint64_t>)>& visit) {
  TG_ASSIGN_OR_RETURN(int opened, process.openFile("pagemap", O_RDONLY));
  WordFile pagemap(opened);
  std::vector<uint64_t> entries;
  for (size_t i = 0; i < uses.size(); ++i) {
    const Mapping& mapping = uses[i].mapping;
    if (mapping.kind == MappingKind::kDevice) continue;
    std::vector<AddressRange> ranges;
    auto join = [&](AddressRange range) {
      if (ranges.empty() || range.begin > ranges.back().end + kShortHole)
        ranges.push_back(range);
      else
        ranges.back().end = range.end;
    };
    // Large mappings may be mostly reserved: CUDA, sanitizers and garbage collectors have TB of
    // them.
    if (mapping.end - mapping.start <= 2 * kShortHole || scan(pagemap, mapping, true, join) != 0)
      ranges = {{mapping.start, mapping.end}};
    for (const AddressRange& range : ranges)
      if (int failed =
              readEntries(pagemap, range, entries,
                          [&](uint64_t, std::span<const uint64_t> some) { visit(i, some); });
          failed != 0)
        return process.whyNothing("pagemap", -failed);
  }
  return base::okStatus();
}

}  // namespace tidegauge::wss
