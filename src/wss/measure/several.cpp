#include "wss/measure/several.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tidegauge::wss {
namespace {

std::vector<Group> groupsOfRows(const std::vector<std::pair<pid_t, const Row*>>& rows_by_pid,
                                const std::vector<const Row*>& rows,
                                const SeveralOptions& options) {
  if (!options.by) return {};
  if (*options.by == Grouping::kMapping) return mappingsOfAll(rows_by_pid);
  return groupsOfAll(rows, *options.by, options.knows_frames);
}

// Pages by where they lie, so that each is one however many map it.
Row rowOfAll(const std::vector<const Row*>& rows, const std::optional<Once>& once) {
  Row all;
  if (rows.empty()) return all;
  all.clear = rows.front()->clear;
  all.read = rows.front()->read;
  for (const Row* row : rows) {
    all.clear.begin_ns = std::min(all.clear.begin_ns, row->clear.begin_ns);
    all.clear.end_ns = std::max(all.clear.end_ns, row->clear.end_ns);
    all.read.begin_ns = std::min(all.read.begin_ns, row->read.begin_ns);
    all.read.end_ns = std::max(all.read.end_ns, row->read.end_ns);
    all.sums.add(row->sums);
    all.unread_bytes += row->unread_bytes;
    all.gone_bytes += row->gone_bytes;
    all.is_flushed &= row->is_flushed;
    add(all.meanwhile, row->meanwhile);
    all.cost.cpu_ns += row->cost.cpu_ns;
    all.cost.stall_ns = std::max(all.cost.stall_ns, row->cost.stall_ns);
    all.cost.stopped_ns = std::max(all.cost.stopped_ns, row->cost.stopped_ns);
  }
  all.window = windowOf(all.clear, all.read, 0, 1);
  // Each stood still for a while, which is in none of their windows.
  if (all.cost.stopped_ns > 0) {
    all.window = {INT64_MAX, 0, 0};
    for (const Row* row : rows) {
      all.window.least_ns = std::min(all.window.least_ns, row->window.least_ns);
      all.window.mean_ns += row->window.mean_ns / static_cast<int64_t>(rows.size());
      all.window.most_ns = std::max(all.window.most_ns, row->window.most_ns);
    }
  }
  if (once) {
    all.sums.rss = once->rss;
    all.sums.referenced = once->referenced;
  }
  return all;
}

}  // namespace

SeveralWindow severalWindow(const std::deque<Process>& processes, std::span<const Outcome> outcomes,
                            const SeveralOptions& options) {
  SeveralWindow window;
  std::vector<const Row*> rows;
  std::vector<std::pair<pid_t, const Row*>> rows_by_pid;
  std::vector<std::span<const Frame>> frames;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const Process& process = processes[i];
    window.members.push_back({process.pid(), process.name(), &outcomes[i]});
    if (!outcomes[i].row) continue;
    rows.push_back(&*outcomes[i].row);
    rows_by_pid.emplace_back(process.pid(), rows.back());
    frames.emplace_back(rows.back()->frames);
  }
  if (options.knows_frames) window.once = onceOf(frames);
  // What one of them touched since the beginning they all did, though others took the bits away
  // (-C, -P).
  for (const Row* row : rows)
    if (window.once && !row->once)
      window.once->referenced = std::max(window.once->referenced, row->sums.referenced);
  window.groups = groupsOfRows(rows_by_pid, rows, options);
  window.all = rowOfAll(rows, window.once);
  if (options.keeps_pages && !rows.empty()) window.all.pages = byFrame(frames);
  return window;
}

}  // namespace tidegauge::wss
