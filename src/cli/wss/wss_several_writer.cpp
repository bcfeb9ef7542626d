#include "cli/wss/wss_several_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/csv.h"
#include "base/text_layout.h"
#include "cli/options/terminal.h"
#include "cli/wss/wss_common.h"
#include "wss/words/row_json.h"
#include "wss/words/row_text.h"

namespace tidegauge::cli {
namespace {

std::string headText(size_t processes, const wss::Choice& choice) {
  std::string words =
      fmt::format("Touched by {} process{}, by {}: {}.", processes, processes == 1 ? "" : "es",
                  choice.backend->name(), choice.backend->how());
  return base::wrapped(words, pageColumns(), 0, 2) + choiceNotes(choice, pageColumns());
}

nlohmann::json leftOutJson(const wss::Watched& watched) {
  nlohmann::json list = nlohmann::json::array();
  for (const wss::LeftOut& one : watched.leftOut())
    list.push_back({{"pid", one.pid}, {"why", one.why}});
  return list;
}

// Only those that still run can be named; others may have come and gone.
std::string unseenText(const std::vector<pid_t>& unseen, size_t columns) {
  constexpr size_t kMost = 5;
  std::string names;
  for (size_t i = 0; i < std::min(unseen.size(), kMost); ++i)
    names += fmt::format("{}{}", i == 0 ? "" : ", ", unseen[i]);
  if (unseen.size() > kMost) names += fmt::format(" and {} more", unseen.size() - kMost);
  return base::wrapped(
      fmt::format(
          "Careful: process{} {} began meanwhile, and {} in no figure. Windows that begin anew "
          "(-s 0, --rolling) take in those that began before them.",
          unseen.size() == 1 ? "" : "es", names, unseen.size() == 1 ? "is" : "are"),
      columns, 0, 2);
}

std::string nameIn(const wss::Watched& watched, pid_t pid) {
  for (const wss::Process& process : watched.processes())
    if (process.pid() == pid) return process.name();
  return {};
}

}  // namespace

WssSeveralWriter::WssSeveralWriter(const WssOptions& options, const wss::Plan& plan,
                                   const wss::Choice& choice, bool knows_frames,
                                   const wss::Watched& watched, Output& out)
    : options_(options),
      plan_(plan),
      watched_(watched),
      out_(out),
      knows_frames_(knows_frames),
      knows_sharing_(choice.backend->knowsSharing()) {
  const wss::Backend& backend = *choice.backend;
  if (options.rolling > 0)
    rolling_ = std::make_unique<WssRolling>(options, static_cast<double>(plan.duration_ns) * 1e-9);
  head_ = {{"backend", backend.name()},
           {"how", backend.how()},
           {"why", choice.why},
           {"limits", backend.limits()}};
  if (options.csv)
    out.write("pid,process," + wss::csvHeader()), complainOfLimits(backend);
  else if (!options.json && !options.jsonl)
    out.write(headText(watched.processes().size(), choice));
  if (!watched.processes().empty()) machine_ = wss::lookAtMachine(watched.processes().front());
  out.flush();
}

bool WssSeveralWriter::rows(std::span<const wss::Outcome> outcomes) {
  Window window;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const wss::Process& process = watched_.processes()[i];
    window.members.push_back({process.pid(), process.name(), &outcomes[i]});
    if (!outcomes[i].row) continue;
    window.rows.push_back(&*outcomes[i].row);
    window.frames.emplace_back(outcomes[i].row->frames);
  }
  if (knows_frames_) window.once = wss::onceOf(window.frames);
  // What one of them touched since the beginning they all did, though others took the bits away
  // (-C, -P).
  for (const wss::Row* row : window.rows)
    if (window.once)
      window.once->referenced = std::max(window.once->referenced, row->sums.referenced);
  if (options_.by == "vma")
    window.groups = wss::mappingsOfAll(rowsByPid(window));
  else if (!options_.by.empty())
    window.groups = wss::groupsOfAll(window.rows, grouping(), knows_frames_);
  wss::Row all = rowOfAll(window);
  most_stall_ns_ = std::max(most_stall_ns_, all.cost.stall_ns);
  if (rolling_) rolling_->add(all);
  if (options_.csv)
    writeCsv(window, all);
  else if (options_.json || options_.jsonl)
    writeJson(window, all);
  else
    writeText(window, all);
  count_ += 1;
  out_.flush();
  return !out_.failed();
}

void WssSeveralWriter::end(const std::vector<pid_t>& unseen, const base::Status& status) {
  if (options_.json) {
    head_["rows"] = std::move(all_);
    head_["left_out"] = leftOutJson(watched_);
    head_["began_unmeasured"] = unseen;
    head_["ended"] = endedJson(status);
    out_.print("{}\n", dumpedJson(head_, 2));
  } else if (options_.jsonl && !status.ok()) {
    out_.print("{}\n", dumpedJson({{"ended", endedJson(status)}}, -1));
  } else if (!options_.jsonl && !options_.csv) {
    out_.write(stallNote(most_stall_ns_, options_.most_stall_ms, "one of them", pageColumns()));
    if (rolling_) out_.write(rolling_->closingText(pageColumns(), usesColours()));
    if (std::string chart = wss::profileText(profile_, machine_, pageColumns()); !chart.empty())
      out_.write("\n" + chart);
    if (!unseen.empty()) out_.write(unseenText(unseen, pageColumns()));
  }
}

wss::Grouping WssSeveralWriter::grouping() const {
  if (options_.by == "vma") return wss::Grouping::kMapping;
  return options_.by == "file" ? wss::Grouping::kFile : wss::Grouping::kKind;
}

std::vector<std::pair<pid_t, const wss::Row*>> WssSeveralWriter::rowsByPid(const Window& window) {
  std::vector<std::pair<pid_t, const wss::Row*>> rows;
  for (const wss::Member& member : window.members)
    if (member.outcome->row) rows.emplace_back(member.pid, &*member.outcome->row);
  return rows;
}

// All of them as one: pages by where they lie, so that each is one however many map it.
wss::Row WssSeveralWriter::rowOfAll(const Window& window) const {
  wss::Row all;
  if (window.rows.empty()) return all;
  all.clear = window.rows.front()->clear;
  all.read = window.rows.front()->read;
  for (const wss::Row* row : window.rows) {
    all.clear.begin_ns = std::min(all.clear.begin_ns, row->clear.begin_ns);
    all.clear.end_ns = std::max(all.clear.end_ns, row->clear.end_ns);
    all.read.begin_ns = std::min(all.read.begin_ns, row->read.begin_ns);
    all.read.end_ns = std::max(all.read.end_ns, row->read.end_ns);
    all.sums.add(row->sums);
    all.unread_bytes += row->unread_bytes;
    all.cost.cpu_ns += row->cost.cpu_ns;
    all.cost.stall_ns = std::max(all.cost.stall_ns, row->cost.stall_ns);
  }
  all.window = wss::windowOf(all.clear, all.read, 0, 1);
  if (window.once) {
    all.sums.rss = window.once->rss;
    all.sums.referenced = window.once->referenced;
  }
  if (rolling_) all.pages = wss::byFrame(window.frames);
  return all;
}

void WssSeveralWriter::writeText(const Window& window, const wss::Row& all) {
  if (count_ > 0) {
    std::string names;
    for (pid_t pid : watched_.began())
      names += fmt::format("{}{} ({})", names.empty() ? "" : ", ",
                           base::printable(nameIn(watched_, pid)), pid);
    if (!names.empty())
      out_.write(base::wrapped("From here on with " + names + ".", pageColumns(), 0, 2));
  }
  if (rolling_) {
    if (count_ > 0 && !options_.by.empty()) out_.write("\n" + rolling_->header());
    out_.write(rolling_->rowText(all));
    for (const wss::Member& member : window.members)
      if (member.outcome->gone)
        out_.write(
            base::wrapped("Not measured: " + base::printable(member.outcome->gone->what) + ".",
                          pageColumns(), 0, 2));
  } else {
    out_.write((count_ > 0 ? "\n" : "") +
               wss::severalText(window.members, window.once, options_.top, pageColumns()));
    for (const std::string& gap : wss::gapsOf(all))
      out_.write(base::wrapped(gap, pageColumns(), 0, 2));
    wss::Touched touched{all.window.mean_ns, all.sums.referenced, all.sums.rss};
    // Without knowing which pages are the same, the sum is of nothing that has to fit.
    if (window.once && plan_.course == wss::Course::kSingle)
      out_.write(wss::fitText(touched, machine_, pageColumns()));
    if (window.once && plan_.course == wss::Course::kProfile) profile_.push_back(touched);
  }
  if (options_.by.empty()) return;
  wss::TextOptions text;
  text.columns = pageColumns();
  out_.write("\n" + wss::groupsText(window.groups, grouping(), options_.top, text));
}

void WssSeveralWriter::writeJson(const Window& window, const wss::Row& all) {
  nlohmann::json row =
      wss::severalJson(window.members, window.once, plan_, unixSeconds(), knows_sharing_);
  row["began"] = count_ == 0 ? std::vector<pid_t>() : watched_.began();
  if (rolling_) row["rolling"] = rolling_->rowJson(all);
  if (!options_.by.empty()) row["groups"] = nlohmann::json::array();
  for (const wss::Group& group : window.groups) {
    row["groups"].push_back(
        {{"name", group.name},
         {"kind", wss::name(group.kind)},
         {"mappings", group.mappings},
         {"bytes", {{"rss", group.sums.rss}, {"referenced", group.sums.referenced}}}});
    if (group.pid != 0)
      row["groups"].back().update({{"pid", group.pid}, {"start", group.start}, {"end", group.end}});
  }
  if (options_.json) {
    all_.push_back(std::move(row));
    return;
  }
  row.update(head_);
  row["left_out"] = leftOutJson(watched_);
  out_.print("{}\n", dumpedJson(row, -1));
}

// A line for each, and one without a process for all of them, if it is known which pages are the
// same.
void WssSeveralWriter::writeCsv(const Window& window, const wss::Row& all) {
  double unix_s = unixSeconds();
  for (const wss::Member& member : window.members) {
    if (!member.outcome->row) continue;
    std::string line = fmt::format("{},", member.pid);
    base::appendCsvField(line, base::printable(member.name));
    out_.write(line + "," + wss::csvRow(*member.outcome->row, unix_s, knows_sharing_));
  }
  if (knows_frames_) out_.write(",," + wss::csvRow(all, unix_s, false));
}

}  // namespace tidegauge::cli
