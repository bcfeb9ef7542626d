#include "wss/measure/grouping.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace tidegauge::wss {

std::string nameOf(const Mapping& mapping) {
  // The kernel's name for shared memory without a file.
  if (mapping.path == "/dev/zero (deleted)") return "[shared anonymous]";
  return mapping.path.empty() ? std::string(name(mapping.kind)) : mapping.path;
}

namespace {

// The key of each group.
std::string keyOf(const Mapping& mapping, Grouping grouping) {
  if (grouping == Grouping::kKind) return std::string(name(mapping.kind));
  return nameOf(mapping);
}

struct Sum {
  Group group;
  double touched_ns = 0;  // sums of windows, weighted by touched bytes and by resident bytes
  double present_ns = 0;
};

void add(Sum& sum, const MappingUse& use, const Window& window) {
  Group& group = sum.group;
  bool is_first = group.mappings == 0;
  group.start = is_first ? use.mapping.start : group.start;
  group.end = is_first ? use.mapping.end : 0;
  group.window.least_ns =
      is_first ? window.least_ns : std::min(group.window.least_ns, window.least_ns);
  group.window.most_ns = std::max(group.window.most_ns, window.most_ns);
  group.mappings += 1;
  group.sums.add(use.sums);
  sum.touched_ns += static_cast<double>(window.mean_ns) * static_cast<double>(use.sums.referenced);
  sum.present_ns += static_cast<double>(window.mean_ns) * static_cast<double>(use.sums.rss);
}

Group finished(Sum sum) {
  const MappingSums& sums = sum.group.sums;
  Window& window = sum.group.window;
  if (sums.referenced > 0)
    window.mean_ns = static_cast<int64_t>(sum.touched_ns / static_cast<double>(sums.referenced));
  else if (sums.rss > 0)
    window.mean_ns = static_cast<int64_t>(sum.present_ns / static_cast<double>(sums.rss));
  else
    window.mean_ns = std::midpoint(window.least_ns, window.most_ns);
  return std::move(sum.group);
}

void mostFirst(std::vector<Group>& groups) {
  std::stable_sort(groups.begin(), groups.end(), [](const Group& one, const Group& other) {
    if (one.sums.referenced != other.sums.referenced)
      return one.sums.referenced > other.sums.referenced;
    return one.sums.rss > other.sums.rss;
  });
}

}  // namespace

std::vector<Group> groupsOf(const Row& row, Grouping grouping) {
  std::vector<Sum> sums;
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < row.uses.size(); ++i) {
    const Mapping& mapping = row.uses[i].mapping;
    size_t place = sums.size();
    if (grouping != Grouping::kMapping)
      place = places.try_emplace(keyOf(mapping, grouping), place).first->second;
    if (place == sums.size()) {
      sums.emplace_back();
      sums.back().group.name = keyOf(mapping, grouping);
      sums.back().group.kind = mapping.kind;
    }
    add(sums[place], row.uses[i], row.windows[i]);
  }
  std::vector<Group> groups;
  groups.reserve(sums.size());
  for (Sum& sum : sums) groups.push_back(finished(std::move(sum)));
  mostFirst(groups);
  return groups;
}

std::vector<Group> mappingsOfAll(const std::vector<std::pair<pid_t, const Row*>>& rows) {
  std::vector<Group> all;
  for (const auto& [pid, row] : rows) {
    for (Group& group : groupsOf(*row, Grouping::kMapping)) {
      group.pid = pid;
      all.push_back(std::move(group));
    }
  }
  mostFirst(all);
  return all;
}

std::vector<Group> groupsOfAll(const std::vector<const Row*>& rows, Grouping grouping,
                               bool has_frames) {
  struct Part {
    Group group;
    std::vector<std::span<const Frame>> frames;
  };
  std::map<std::string, Part> parts;
  for (const Row* row : rows) {
    size_t at = 0;  // frames are in the order of the mappings
    for (const MappingUse& use : row->uses) {
      Part& part = parts[keyOf(use.mapping, grouping)];
      part.group.kind = use.mapping.kind;
      part.group.mappings += 1;
      part.group.sums.add(use.sums);
      if (!has_frames) continue;
      part.frames.push_back(std::span(row->frames).subspan(at, use.sums.rss / kPage));
      at += use.sums.rss / kPage;
    }
  }
  std::vector<Group> groups;
  for (auto& [name, part] : parts) {
    part.group.name = name;
    if (has_frames) {
      Once once = onceOf(part.frames);
      part.group.sums.rss = once.rss, part.group.sums.referenced = once.referenced;
    }
    groups.push_back(std::move(part.group));
  }
  mostFirst(groups);
  return groups;
}

}  // namespace tidegauge::wss
