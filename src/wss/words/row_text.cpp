#include "wss/words/row_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "base/text_layout.h"
#include "wss/pages/repeats.h"
#include "wss/units.h"

namespace tidegauge::wss {
namespace {

// Whether mappings have their own windows.
bool knowsWhich(const Row& row) {
  return std::ranges::any_of(row.windows, [&](const Window& window) {
    return window.least_ns != row.window.least_ns || window.most_ns != row.window.most_ns;
  });
}

// The two additional times would exceed 80 columns: then sizes have fewer columns, and Huge% none.
bool isNarrow(const TextOptions& options) {
  constexpr size_t kWithMoreTimes = 95;
  return options.more_times && options.columns < kWithMoreTimes;
}
size_t sizeWidth(const TextOptions& options) { return isNarrow(options) ? 7 : 10; }

// The error, the rate, or the part that may belong to others.
const char* fifthName(const TextOptions& options) {
  if (options.tells_writes) return "MB/s";
  return options.is_sampled ? "+-(MB)" : "Shr(MB)";
}

// Within `columns`. A path first loses its folders, then the number of mappings, then its
// beginning.
std::string nameOf(const Group& group, Grouping grouping, size_t columns) {
  std::string path = base::printable(group.name), before, after;
  if (grouping == Grouping::kMapping)
    before =
        (group.pid == 0 ? "" : fmt::format("{} ", group.pid)) + base::hexAddress(group.start) + " ";
  else if (group.mappings > 1)
    after = fmt::format(" ({} mappings)", base::withCommas(group.mappings));
  size_t room = columns - std::min(columns, base::displayWidth(before));
  std::string file = path.substr(path.rfind('/') + 1);
  size_t least = base::displayWidth(file) + (file == path ? 0 : 2);  // "…/"
  if (least + after.size() > room) after.clear();
  return before + base::cutFolders(path, room - after.size()) + after;
}

}  // namespace

std::string rowHeader(const TextOptions& options) {
  size_t size = sizeWidth(options);
  std::string text = options.more_times ? fmt::format("{:<7} {:<7} ", "Slp(s)", "Dur(s)") : "";
  text += fmt::format("{:<7} {:>{}} {:>{}} {:>{}} {:>5} {:>{}}", "Est(s)", "RSS(MB)", size,
                      "PSS(MB)", size, options.tells_writes ? "Wrt(MB)" : "Ref(MB)", size,
                      options.tells_writes ? "Wrt%" : "Ref%", fifthName(options),
                      std::min<size_t>(size, 8));
  if (!isNarrow(options)) text += fmt::format(" {:>5}", "Huge%");
  return text + fmt::format(" {:>7} {:>9}\n", "CPU(ms)", "Stall(ms)");
}

std::string rowText(const Row& row, const TextOptions& options) {
  std::string text;
  if (options.more_times)
    text = fmt::format("{:<7.3f} {:<7.3f} ", seconds(row.slept_ns), seconds(row.taken_ns));
  const MappingSums& sums = row.sums;
  size_t size = sizeWidth(options), fifth_size = std::min<size_t>(size, 8);
  // The error; else what others may have touched, if known.
  // No interval holds for a lower bound.
  std::string fifth =
      row.error_bytes && isAtLeast(row) ? "-"
      : row.error_bytes       ? fitted(static_cast<uint64_t>(*row.error_bytes), fifth_size)
      : options.tells_writes  ? fitted(static_cast<uint64_t>(writeRate(row)), fifth_size)
      : options.knows_sharing ? fitted(maybeOfOthers(row), fifth_size)
                              : "-";
  text += fmt::format(
      "{:<7.3f} {:>{}} {:>{}} {:>{}} {:>5.1f} {:>{}}", seconds(row.window.mean_ns),
      fitted(sums.rss, size), size, options.knows_sharing ? fitted(sums.pss, size) : "-", size,
      isAtLeast(row) ? fitted(sums.referenced, size - 1) + "+" : fitted(sums.referenced, size),
      size, percent(sums.referenced, sums.rss), fifth, fifth_size);
  if (!isNarrow(options))
    text += options.knows_huge ? fmt::format(" {:>5.1f}", percent(sums.huge, sums.rss))
                               : fmt::format(" {:>5}", "-");
  return text + fmt::format(" {:>7.1f} {:>9.1f}\n", milliseconds(row.cost.cpu_ns),
                            milliseconds(row.cost.stall_ns));
}

std::vector<std::string> gapsOf(const Row& row) {
  std::vector<std::string> gaps;
  if (row.unmapped_bytes > 0)
    gaps.push_back(
        fmt::format("{} of the memory that the file lists as "
                    "pinned are no longer mapped in this process.",
                    base::humanBytes(row.unmapped_bytes)));
  if (row.unread_bytes > 0)
    gaps.push_back(fmt::format(
        "The page tables of {} of addresses could not be read, so the figures do not include this "
        "memory.",
        base::humanBytes(row.unread_bytes)));
  if (row.meanwhile.unseen.any()) gaps.push_back(unseenSentence(row.meanwhile.unseen));
  return gaps;
}

std::string repeatsSentence(const Row& row, bool knows_sharing) {
  if (row.once && row.sums.rss - std::min(row.sums.rss, row.once->rss) > kFewRepeats)
    return fmt::format(
        "Some memory is mapped more than once, and counted each time. Counted once, RSS is {} and "
        "Ref {}.",
        base::humanBytes(row.once->rss), base::humanBytes(row.once->referenced));
  if (!row.once && row.repeated_bytes > kFewRepeats)
    return fmt::format("Up to {} are mapped more than once, and counted each time{}.",
                       base::humanBytes(row.repeated_bytes), knows_sharing ? ", but in PSS" : "");
  return {};
}

std::string rowNotes(const Row& row, const TextOptions& options) {
  const MappingSums& sums = row.sums;
  std::string text;
  auto note = [&](const std::string& words) {
    text += base::wrapped(words, options.columns, 0, 2);
  };
  // The windows differ: lower addresses were watched for longer or shorter.
  if (row.window.most_ns - row.window.least_ns > row.window.mean_ns / 10)
    note(fmt::format("Windows from {:.3f} to {:.3f} s: clearing took {:.1f} ms, reading {:.1f}{}.",
                     seconds(row.window.least_ns), seconds(row.window.most_ns),
                     milliseconds(row.clear.duration_ns()), milliseconds(row.read.duration_ns()),
                     knowsWhich(row) ? "; --by vma shows the window of each mapping" : ""));
  if (row.uncleared_bytes > sums.referenced / 100)
    note(fmt::format(
        "{} of the touched memory is shared with the parent or a forked child of the process. A "
        "sample cannot clear it, so it may have been touched before the window. Use --sample "
        "exact.",
        base::humanBytes(row.uncleared_bytes)));
  else if (row.error_bytes && *row.error_bytes > 0.25 * static_cast<double>(sums.referenced))
    note("Too little memory was touched for a good sample. Use --sample exact, or a finer sample.");
  for (const std::string& gap : gapsOf(row)) note(gap);
  if (std::string repeats = repeatsSentence(row, options.knows_sharing); !repeats.empty())
    note(repeats);
  if (sums.huge > 0)
    note(
        fmt::format("{} is in huge pages, which count as a whole when any byte of them is touched.",
                    base::humanBytes(sums.huge)));
  if (sums.hugetlb > 0)
    note(
        fmt::format("{} of reserved huge pages (hugetlb) are not in these figures: "
                    "the kernel does not report whether they were touched.",
                    base::humanBytes(sums.hugetlb)));
  if (sums.swap > 0 && row.meanwhile.is_reclaimed)
    note(fmt::format("{} are swapped out at the end.", base::humanBytes(sums.swap)));
  else if (sums.swap > 0)
    note(fmt::format("{} are swapped out, so they were not touched.", base::humanBytes(sums.swap)));
  return text;
}

std::string cgroupText(const Row& row, size_t columns) {
  if (!row.meanwhile.memory) return {};
  const CgroupMemory& memory = *row.meanwhile.memory;
  std::string own = memory.own == 0 ? ""
                                    : fmt::format(" (up to {} of them by tidegauge itself)",
                                                  base::humanBytes(memory.own));
  return base::wrapped(
      fmt::format("Cgroup {}: {} charged{}; working set as the kubelet computes it {}; page cache "
                  "that no process maps {}.",
                  base::printable(row.meanwhile.cgroup), base::humanBytes(memory.charged), own,
                  base::humanBytes(memory.workingSet()), base::humanBytes(memory.unmappedCache())),
      columns, 0, 2);
}

std::string writesText(const Row& row, const TextOptions& options) {
  double window_s = seconds(row.window.mean_ns), all_s = allWrittenAfter_s(row);
  if (row.sums.referenced == 0) return fmt::format("Nothing was written in {:.3g} s.\n", window_s);
  return base::wrapped(
      fmt::format("{} were written in {:.3g} s ({}/s). At this rate, all {} of resident memory are "
                  "written once after {:.3g} s at the earliest.",
                  base::humanBytes(row.sums.referenced), window_s,
                  base::humanBytes(static_cast<uint64_t>(writeRate(row))),
                  base::humanBytes(row.sums.rss), all_s),
      options.columns, 0, 2);
}

std::string groupsText(const std::vector<Group>& groups, Grouping grouping, size_t most,
                       const TextOptions& options) {
  std::string text = fmt::format("{:>10} {:>10} {:>5} {:>8} {:<9}  {}\n",
                                 options.tells_writes ? "Wrt(MB)" : "Ref(MB)", "RSS(MB)",
                                 options.tells_writes ? "Wrt%" : "Ref%", "Est(s)", "kind",
                                 grouping != Grouping::kMapping          ? "name"
                                 : !groups.empty() && groups[0].pid != 0 ? "process, mapping"
                                                                         : "mapping");
  constexpr size_t kBefore = 48;
  size_t width = std::max<size_t>(20, options.columns > kBefore ? options.columns - kBefore : 0);
  auto line = [&](const MappingSums& sums, int64_t window_ns, std::string_view kind,
                  std::string_view what) {
    text +=
        fmt::format("{:>10.2f} {:>10.2f} {:>5.1f} {:>8} {:<9}  {}\n", mib(sums.referenced),
                    mib(sums.rss), percent(sums.referenced, sums.rss),
                    window_ns == 0 ? "-" : fmt::format("{:.3f}", seconds(window_ns)), kind, what);
  };
  for (size_t i = 0; i < std::min(groups.size(), most); ++i) {
    const Group& group = groups[i];
    line(group.sums, group.window.mean_ns, name(group.kind), nameOf(group, grouping, width));
  }
  if (groups.size() > most) {
    MappingSums rest;
    for (size_t i = most; i < groups.size(); ++i) rest.add(groups[i].sums);
    line(rest, 0, "", fmt::format("{} more", base::withCommas(groups.size() - most)));
  }
  return text;
}

}  // namespace tidegauge::wss
