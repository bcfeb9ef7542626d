#include "report/recording/damage.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "model/recorded_work.h"

namespace tidegauge::report {

std::string damageOf(const model::Trace& trace, const std::string& path) {
  constexpr size_t kMaxNamed = 3;
  if (trace.work == nullptr || trace.work->run == nullptr) return {};
  const std::vector<model::UnreadTable>& unread = trace.work->run->unread;
  uint64_t rows = trace.issues.count(model::IssueKind::kContradictoryRow);
  bool is_cut_short = trace.work->run->is_cut_short;
  if (unread.empty() && rows == 0 && !is_cut_short) return {};
  std::string text = fmt::format("{} is damaged, so its figures may be wrong.", path);
  if (is_cut_short) text += " It is truncated: its last page is incomplete.";
  for (size_t i = 0; i < std::min(unread.size(), kMaxNamed); ++i)
    text += fmt::format("{} {} ({})", i == 0 ? " These tables could not be read to the end:" : ",",
                        unread[i].table, unread[i].why);
  if (unread.size() > kMaxNamed) text += fmt::format(" and {} more", unread.size() - kMaxNamed);
  if (!unread.empty()) text += '.';
  if (rows > 0)
    text += fmt::format(" Tidegauge ignored {} that contradict{} the rest.",
                        base::counted(rows, "row"), rows == 1 ? "s" : "");
  return text + " Copy it again, together with its -wal file if one exists.";
}

std::string unreadMembersOf(const model::Trace& trace, const std::string& path) {
  // An archive may contain other files beside snapshots; these are reported by name.
  auto isSnapshot = [](const std::string& detail) {
    std::string_view name = std::string_view(detail).substr(0, detail.find(": "));
    return name.find(".pickle") != std::string_view::npos ||
           name.find(".pkl") != std::string_view::npos || name == model::Issues::kRest;
  };
  std::string first;
  uint64_t count = 0;
  for (const model::Issue& issue : trace.issues.all()) {
    if (issue.kind != model::IssueKind::kUnreadMember || !isSnapshot(issue.detail)) continue;
    if (count == 0) first = issue.detail;
    count += issue.count;
  }
  if (count == 0) return {};
  std::string text = fmt::format("{}: {}.", path, first);
  if (count > 1)
    text += fmt::format(" So {} more.",
                        count == 2 ? "is one" : fmt::format("are {}", base::withCommas(count - 1)));
  return text + " The rest of the archive was read.";
}

}  // namespace tidegauge::report
