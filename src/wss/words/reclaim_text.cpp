#include "wss/words/reclaim_text.h"

#include <fmt/format.h>

#include "base/format.h"
#include "base/text_layout.h"

namespace tidegauge::wss {
namespace {

// "the kernel reclaimed 253 MiB, and 255 MiB were read back"
std::string countsText(const Meanwhile& meanwhile) {
  const MemoryCounters& counted = meanwhile.within.counted;
  std::string text =
      counted.taken > 0
          ? fmt::format("the kernel reclaimed {}", base::humanBytes(counted.taken))
          : fmt::format("the kernel scanned {} to free memory", base::humanBytes(counted.scanned));
  if (meanwhile.scans_machine) text += " on the whole machine";
  if (uint64_t back = counted.refaulted(); back > 0)
    text += fmt::format(", and {} were read back", base::humanBytes(back));
  return text;
}

std::vector<std::string> limitSentences(const Meanwhile& meanwhile) {
  if (!meanwhile.exceedsLimit()) return {};
  return {fmt::format("What cgroup {} uses is larger than its limit of {}: {} were read back.",
                      base::printable(meanwhile.limit_of), base::humanBytes(meanwhile.limit_bytes),
                      base::humanBytes(meanwhile.within.counted.refaulted()))};
}

}  // namespace

std::vector<std::string> reclaimSentences(const Row& row) {
  if (!row.meanwhile.is_reclaimed) return {};
  std::vector<std::string> sentences{fmt::format(
      "Careful: memory was short in the window: {}. Ref is a lower bound, because reclaimed pages "
      "no longer count.",
      countsText(row.meanwhile))};
  if (row.gone_bytes > 0)
    sentences.push_back(fmt::format(
        "At least {} were touched: {} that are resident, {} that were reclaimed before the window "
        "ended.",
        base::humanBytes(row.sums.referenced + row.gone_bytes),
        base::humanBytes(row.sums.referenced), base::humanBytes(row.gone_bytes)));
  for (std::string& one : limitSentences(row.meanwhile)) sentences.push_back(std::move(one));
  return sentences;
}

std::vector<std::string> reclaimSentences(size_t windows, size_t all, const Meanwhile& last) {
  if (windows == 0) return {};
  std::vector<std::string> sentences{fmt::format(
      "Careful: memory was short in {} of {} windows. Their touched memory is a lower bound (in "
      "text, a + marks it), because reclaimed pages no longer count. In the last of them, {}.",
      windows, all, countsText(last))};
  for (std::string& one : limitSentences(last)) sentences.push_back(std::move(one));
  return sentences;
}

}  // namespace tidegauge::wss
