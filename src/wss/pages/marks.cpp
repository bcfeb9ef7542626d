#include "wss/pages/marks.h"

#include <algorithm>

#include "wss/pages/page_bits.h"

namespace tidegauge::wss {

std::vector<Mark> orderedMarks(std::vector<Mark> marks) {
  for (Mark& mark : marks) {
    mark.start -= mark.start % kPage;
    if (uint64_t rest = mark.end % kPage; rest != 0)
      mark.end = mark.end > UINT64_MAX - kPage ? UINT64_MAX - UINT64_MAX % kPage
                                               : mark.end + (kPage - rest);
  }
  std::erase_if(marks, [](const Mark& it) { return it.start >= it.end; });
  std::ranges::stable_sort(marks, {}, &Mark::start);
  std::vector<Mark> ordered;
  for (Mark& mark : marks) {
    // Two buffers in one page: it is the first one's.
    if (!ordered.empty()) mark.start = std::max(mark.start, ordered.back().end);
    if (mark.start < mark.end) ordered.push_back(std::move(mark));
  }
  return ordered;
}

void cutAt(std::vector<MappingUse>& uses, std::span<const Mark> marks, uint64_t& unmapped_bytes) {
  if (marks.empty()) return;
  std::vector<MappingUse> cut;
  cut.reserve(uses.size() + 2 * marks.size());
  auto part = [&](const Mapping& mapping, uint64_t start, uint64_t end) {
    if (start >= end) return;
    cut.push_back({mapping, {}});
    cut.back().mapping.start = start;
    cut.back().mapping.end = end;
  };
  uint64_t marked = 0, covered = 0;
  for (const Mark& mark : marks) marked += mark.end - mark.start;
  auto mark = marks.begin();
  for (const MappingUse& use : uses) {
    uint64_t at = use.mapping.start;
    while (mark != marks.end() && mark->end <= at) ++mark;
    for (auto it = mark; it != marks.end() && it->start < use.mapping.end; ++it) {
      uint64_t from = std::max(it->start, at), to = std::min(it->end, use.mapping.end);
      part(use.mapping, at, from);
      part(use.mapping, from, to);
      // Memory whose kind is known keeps it: the kernel does not report whether such pages were
      // touched.
      bool is_special =
          use.mapping.kind == MappingKind::kHugetlb || use.mapping.kind == MappingKind::kDevice;
      if (!is_special) cut.back().mapping.kind = it->kind;
      cut.back().mapping.path = it->path;
      covered += to - from;
      at = to;
    }
    part(use.mapping, at, use.mapping.end);
  }
  unmapped_bytes += marked - covered;
  uses = std::move(cut);
}

}  // namespace tidegauge::wss
