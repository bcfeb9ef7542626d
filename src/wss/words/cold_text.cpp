#include "wss/words/cold_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "base/text_layout.h"
#include "wss/measure/grouping.h"
#include "wss/units.h"

namespace tidegauge::wss {
namespace {

constexpr int64_t kMinWindow_ns = 1'000'000'000;
constexpr uint64_t kMinBytes = 16U << 20;  // and a quarter of the resident memory
constexpr uint64_t kMinPart = 4;
constexpr size_t kMaxNames = 3;

uint64_t untouched(const MappingSums& sums) {
  return sums.rss > sums.referenced ? sums.rss - sums.referenced : 0;
}

// The last part of a file's path; without a file also the address.
std::string nameOf(const Group& group) {
  std::string name = base::printable(group.name);
  if (group.end != 0) return name + " " + base::hexAddress(group.start);
  size_t slash = name.rfind('/');
  return slash == std::string::npos || slash + 1 == name.size() ? name : name.substr(slash + 1);
}

// Mappings of a file together; others individually.
std::vector<Group> groups(const Row& row) {
  std::vector<Group> found;
  for (Group& group : groupsOf(row, Grouping::kMapping))
    if (!group.name.starts_with('/')) found.push_back(std::move(group));
  for (Group& group : groupsOf(row, Grouping::kFile))
    if (group.name.starts_with('/')) {
      group.end = 0;
      found.push_back(std::move(group));
    }
  std::ranges::stable_sort(found, std::greater<>(),
                           [](const Group& group) { return untouched(group.sums); });
  return found;
}

}  // namespace

std::string coldText(const Row& row, size_t columns) {
  uint64_t cold = untouched(row.sums);
  // What is missing may be what was touched; and who did not run needs nothing yet.
  if (isAtLeast(row) || row.meanwhile.didNotRun()) return {};
  if (row.window.least_ns < kMinWindow_ns || cold < kMinBytes || cold < row.sums.rss / kMinPart)
    return {};
  std::string text =
      fmt::format("{} of {} resident memory were not touched in {:.3g} s", base::humanBytes(cold),
                  base::humanBytes(row.sums.rss), seconds(row.window.mean_ns));
  size_t shown = 0;
  uint64_t rest = cold;
  for (const Group& group : groups(row)) {
    uint64_t of_it = std::min(untouched(group.sums), rest);  // of a sample, a part has errors too
    if (shown == kMaxNames || of_it < cold / 20) break;
    text += fmt::format("{} {} of {}", shown++ == 0 ? ":" : ",", base::humanBytes(of_it),
                        nameOf(group));
    rest -= std::min(rest, of_it);
  }
  if (shown > 0 && rest >= cold / 20) text += fmt::format(", {} elsewhere", base::humanBytes(rest));
  return base::wrapped(text + ".", columns, 0, 2);
}

}  // namespace tidegauge::wss
