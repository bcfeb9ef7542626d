#include "wss/row_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "base/text_layout.h"
#include "wss/units.h"

namespace tidegauge::wss {
namespace {

// Whether mappings have windows of their own.
bool knowsWhich(const Row& row) {
  return std::ranges::any_of(row.windows, [&](const Window& window) {
    return window.least_ns != row.window.least_ns || window.most_ns != row.window.most_ns;
  });
}
uint64_t maybeOfOthers(const MappingUse& use) {
  return std::min(use.sums.referenced, use.sums.shared);
}

}  // namespace

std::string rowHeader(const TextOptions& options) {
  std::string text = options.more_times ? fmt::format("{:<7} {:<7} ", "Slp(s)", "Dur(s)") : "";
  return text + fmt::format("{:<7} {:>10} {:>10} {:>10} {:>5} {:>8} {:>5} {:>7} {:>9}\n", "Est(s)",
                            "RSS(MB)", "PSS(MB)", "Ref(MB)", "Ref%",
                            options.is_sampled ? "+-(MB)" : "Shr(MB)", "Huge%", "CPU(ms)",
                            "Stall(ms)");
}

std::string rowText(const Row& row, const TextOptions& options) {
  std::string text;
  if (options.more_times)
    text = fmt::format("{:<7.3f} {:<7.3f} ", seconds(row.slept_ns), seconds(row.taken_ns));
  uint64_t of_others = 0;
  for (const MappingUse& use : row.uses) of_others += maybeOfOthers(use);
  const MappingSums& sums = row.sums;
  // How wrong it may be; else what others may have touched, where that is known.
  std::string fifth = row.error_bytes         ? fmt::format("{:.2f}", *row.error_bytes / (1 << 20))
                      : options.knows_sharing ? fmt::format("{:.2f}", mib(of_others))
                                              : "-";
  return text + fmt::format(
                    "{:<7.3f} {:>10.2f} {:>10} {:>10.2f} {:>5.1f} {:>8} {:>5.1f} {:>7.1f} "
                    "{:>9.1f}\n",
                    seconds(row.window.mean_ns), mib(sums.rss),
                    options.knows_sharing ? fmt::format("{:.2f}", mib(sums.pss)) : "-",
                    mib(sums.referenced), percent(sums.referenced, sums.rss), fifth,
                    percent(sums.huge, sums.rss), milliseconds(row.cost.cpu_ns),
                    milliseconds(row.cost.stall_ns));
}

std::string rowNotes(const Row& row, const TextOptions& options) {
  const MappingSums& sums = row.sums;
  std::string text;
  auto note = [&](const std::string& words) {
    text += base::wrapped(words, options.columns, 0, 2);
  };
  // A window that is not the same for all: what lies low was watched for longer or shorter.
  if (row.window.most_ns - row.window.least_ns > row.window.mean_ns / 10)
    note(fmt::format("Windows from {:.3f} to {:.3f} s: clearing took {:.1f} ms, reading {:.1f}{}.",
                     seconds(row.window.least_ns), seconds(row.window.most_ns),
                     milliseconds(row.clear.duration_ns()), milliseconds(row.read.duration_ns()),
                     knowsWhich(row) ? "; --by vma says which had which" : ""));
  if (row.error_bytes && *row.error_bytes > 0.25 * static_cast<double>(sums.referenced))
    note(
        "So little was touched that a sample tells it badly: take --sample exact, or a finer one.");
  if (row.unmapped_bytes > 0)
    note(fmt::format("Of what the file says is pinned, {} are not mapped in this process any more.",
                     base::humanBytes(row.unmapped_bytes)));
  if (row.unread_bytes > 0)
    note(fmt::format(
        "The page tables of {} of addresses could not be read: what lies there is in no "
        "figure.",
        base::humanBytes(row.unread_bytes)));
  if (sums.huge > 0)
    note(
        fmt::format("{} is in huge pages, which count as a whole when any byte of them is touched.",
                    base::humanBytes(sums.huge)));
  if (sums.hugetlb > 0)
    note(
        fmt::format("{} of reserved huge pages (hugetlb) are not in these figures: the kernel does "
                    "not tell whether they were touched.",
                    base::humanBytes(sums.hugetlb)));
  if (sums.swap > 0)
    note(fmt::format("{} are swapped out, and so were not touched.", base::humanBytes(sums.swap)));
  return text;
}

std::string groupsText(const std::vector<Group>& groups, Grouping grouping, size_t most,
                       const TextOptions& options) {
  std::string text =
      fmt::format("{:>10} {:>10} {:>5} {:>8} {:<9}  {}\n", "Ref(MB)", "RSS(MB)", "Ref%", "Est(s)",
                  "kind", grouping == Grouping::kMapping ? "mapping" : "name");
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
    std::string what = base::printable(group.name);
    if (grouping == Grouping::kMapping)
      what = fmt::format("{} {}", base::hexAddress(group.start), what);
    else if (group.mappings > 1)
      what += fmt::format(" ({} mappings)", base::withCommas(group.mappings));
    line(group.sums, group.window.mean_ns, name(group.kind), base::cutMiddle(what, width));
  }
  if (groups.size() > most) {
    MappingSums rest;
    for (size_t i = most; i < groups.size(); ++i) rest.add(groups[i].sums);
    line(rest, 0, "", fmt::format("{} more", base::withCommas(groups.size() - most)));
  }
  return text;
}

}  // namespace tidegauge::wss
