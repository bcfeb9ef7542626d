#include "cli/wss/wss_writer.h"

#include <fmt/format.h>

#include <utility>

#include "base/format.h"
#include "base/text_layout.h"
#include "cli/options/terminal.h"
#include "cli/wss/wss_common.h"
#include "wss/surveys/pressure.h"
#include "wss/words/cold_text.h"
#include "wss/words/compat_text.h"
#include "wss/words/row_json.h"

namespace tidegauge::cli {
WssWriter::WssWriter(const WssOptions& options, const wss::Plan& plan, const wss::Process& process,
                     const wss::Choice& choice, Output& out)
    : options_(options),
      plan_(plan),
      out_(out),
      file_(options),
      measured_(process),
      process_(base::printable(process.name())),
      scope_(wss::MemoryScope::of(process)) {
  if (auto now = scope_.look(); now.ok()) before_ = now.value();
  const wss::Backend& backend = *choice.backend;
  text_ = {options.more_times, backend.knowsSharing(), choice.is_sampled, pageColumns(),
           backend.tellsWrites()};
  if (options.rolling > 0)
    rolling_ = std::make_unique<WssRolling>(options, static_cast<double>(plan.duration_ns) * 1e-9);
  std::string pid = fmt::format("{}", options.pids.front());
  if (options.compat)
    out_.write(wss::compatHeader(plan, {pid, options.seconds, options.pause, options.steps},
                                 options.more_times));
  else if (options.csv)
    out_.write(wss::csvHeader(text_.tells_writes)), complainOfLimits(backend);
  else if (!options.json && !options.jsonl)
    writeHead(process, choice);
  head_ = {{"pid", options.pids.front()}, {"process", process.name()},
           {"backend", backend.name()},   {"how", backend.how()},
           {"why", choice.why},           {"limits", backend.limits()}};
  if (!backend.cgroup().empty()) head_["cgroup"] = backend.cgroup();
  if (file_.isWanted()) file_.begin(wss::headOf(process, choice, plan, rolling_ != nullptr));
  out_.flush();  // who waits for the first row sees what it waits for
}

bool WssWriter::row(const wss::Row& row) {
  double unix_s = unixSeconds();
  rows_ += 1;
  most_stall_ns_ = std::max(most_stall_ns_, row.cost.stall_ns);
  lookAtPressure(row);
  if (rolling_) rolling_->add(row);
  file_.row(row, unix_s, plan_, rolling_ ? &rolling_->last() : nullptr, pressure_);
  if (options_.compat) {
    out_.write(wss::compatRow(row, options_.more_times));
  } else if (options_.csv) {
    out_.write(wss::csvRow(row, unix_s, text_.knows_sharing));
  } else if (options_.json || options_.jsonl) {
    nlohmann::json json =
        wss::rowJson(row, plan_, unix_s, groups(row), text_.knows_sharing, text_.tells_writes);
    if (rolling_) json["rolling"] = rolling_->rowJson(row);
    json["pressure"] = wss::pressureJson(pressure_);
    if (options_.json) {
      all_.push_back(std::move(json));
    } else {
      json.update(head_);
      out_.print("{}\n", dumpedJson(json, -1));
    }
  } else {
    writeText(row);
  }
  out_.flush();
  return !out_.failed() && !file_.failed();
}

int WssWriter::end(const base::Status& status) {
  if (options_.json) {
    nlohmann::json json = head_;
    json["rows"] = std::move(all_);
    json["ended"] = endedJson(status);
    out_.print("{}\n", dumpedJson(json, 2));
  } else if (options_.jsonl && !status.ok()) {
    out_.print("{}\n", dumpedJson({{"pid", measured_.pid()}, {"ended", endedJson(status)}}, -1));
  }
  if (std::string chart = wss::profileText(profile_, machine_, text_.columns); !chart.empty())
    out_.write("\n" + chart);
  out_.write(cold_);
  if (!options_.json && !options_.jsonl && !options_.csv && !options_.compat) writeCareful();
  int code = file_.end();
  if (rolling_ && !options_.json && !options_.jsonl)
    out_.write(rolling_->closingText(text_.columns, usesColours()));
  writeLimit();
  if (!rolling_) return code;
  int plot_code = rolling_->writePlot(fmt::format("What {} touched, and when", process_));
  return code != 0 ? code : plot_code;
}

// What went on meanwhile.
void WssWriter::writeCareful() {
  auto say = [&](const std::string& words) {
    out_.write(base::wrapped(words, text_.columns, 0, 2));
  };
  if (searched_ > 0) say(wss::shortageNote(searched_, scope_.cgroup()));
  out_.write(stallNote(most_stall_ns_, options_.most_stall_ms, "the process", text_.columns));
  if (rows_ > 0 && measured_.isStopped())
    say("Careful: it is stopped (SIGSTOP, or a debugger), and so touches nothing.");
}

// Of a run that was too short for one nothing is said: few are meant to tell a limit.
void WssWriter::writeLimit() {
  if (!minutes_) return;
  if (wss::SuggestedLimit limit = minutes_->limit(); limit.bytes)
    out_.write("\n" + base::wrapped(limit.text(), text_.columns, 0, 2));
}

// Since it was looked at before: of -C and -P the row before, where a row counts from the clearing.
void WssWriter::lookAtPressure(const wss::Row& row) {
  auto now = scope_.look();
  if (!now.ok()) return;  // what became of the process is told elsewhere
  int64_t end_ns = row.read.end_ns;
  pressure_ = {now.value() - std::exchange(before_, now.value()),
               end_ns - std::exchange(looked_ns_, end_ns).value_or(row.clear.begin_ns)};
  if (wss::shortageOf(pressure_.counted, pressure_.window_ns) != wss::Shortage::kNone)
    searched_ += pressure_.counted.scanned;
}

std::vector<wss::Group> WssWriter::groups(const wss::Row& row) const {
  if (options_.by.empty()) return {};
  return wss::groupsOf(row, grouping());
}

wss::Grouping WssWriter::grouping() const {
  if (options_.by == "vma") return wss::Grouping::kMapping;
  return options_.by == "file" ? wss::Grouping::kFile : wss::Grouping::kKind;
}

void WssWriter::writeHead(const wss::Process& process, const wss::Choice& choice) {
  const wss::Backend& backend = *choice.backend;
  machine_ = wss::lookAtMachine(process);
  if (plan_.course == wss::Course::kSnapshots && !text_.tells_writes)
    minutes_.emplace(static_cast<double>(plan_.duration_ns) * 1e-9);
  std::string who = fmt::format("{} (process {})", process_, process.pid());
  if (std::string cgroup = backend.cgroup(); !cgroup.empty())
    who = fmt::format("all in cgroup {}, with {}", base::printable(cgroup), who);
  out_.write(
      base::wrapped(fmt::format("{} by {}, by {}: {}.", text_.tells_writes ? "Written" : "Touched",
                                who, backend.name(), backend.how()),
                    text_.columns, 0, 2));
  out_.write(choiceNotes(choice, text_.columns));
  if (rolling_)
    out_.write(
        base::wrapped("MB touched within the period at the head of each column. "
                      "Never: not since the measurement began.",
                      text_.columns, 0, 2));
  else
    out_.write(wss::rowHeader(text_));
}

void WssWriter::writeText(const wss::Row& row) {
  // Behind a list the head stands again, but only if a row follows.
  if (!options_.by.empty() && rows_ > 1)
    out_.write("\n" + (rolling_ ? rolling_->header() : wss::rowHeader(text_)));
  out_.write(rolling_ ? rolling_->rowText(row) : wss::rowText(row, text_));
  wss::Touched touched{row.window.mean_ns, row.sums.referenced, row.sums.rss};
  if (plan_.course == wss::Course::kSingle)
    out_.write(wss::rowNotes(row, text_) + (text_.tells_writes
                                                ? wss::writesText(row, text_)
                                                : wss::fitText(touched, machine_, text_.columns)));
  if (minutes_) minutes_->add(row, rolling_ ? &rolling_->last() : nullptr);
  if (plan_.course == wss::Course::kProfile) profile_.push_back(touched);
  if (plan_.course != wss::Course::kSnapshots) cold_ = wss::coldText(row, text_.columns);
  if (options_.by.empty()) return;
  out_.write("\n");
  out_.write(wss::groupsText(groups(row), grouping(), options_.top, text_));
}

}  // namespace tidegauge::cli
