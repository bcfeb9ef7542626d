#include "wss/output/one_text_printer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text_layout.h"
#include "wss/units.h"
#include "wss/words/choice_text.h"
#include "wss/words/cold_text.h"
#include "wss/words/reclaim_text.h"

namespace tidegauge::wss {

OneTextPrinter::OneTextPrinter(const OneSubject& subject, const PrintOptions& options)
    : subject_(subject), options_(options), machine_(lookAtMachine(subject.process)) {
  const Backend& backend = *subject.choice.backend;
  text_ = {options.more_times, backend.traits().knows_sharing, subject.choice.is_sampled,
           options.columns, backend.traits().tells_writes};
  if (subject.plan.course == Course::kSnapshots && !text_.tells_writes)
    minutes_.emplace(seconds(subject.plan.duration_ns));
}

std::string OneTextPrinter::wrapped(const std::string& words) const {
  return base::wrapped(words, options_.columns, 0, 2);
}

std::string OneTextPrinter::header() const {
  return subject_.rolling != nullptr ? subject_.rolling->header() : rowHeader(text_);
}

std::string OneTextPrinter::begin() {
  const Process& process = subject_.process;
  const Backend& backend = *subject_.choice.backend;
  std::string who = fmt::format("{} (process {})", base::printable(process.name()), process.pid());
  if (std::string cgroup = backend.traits().cgroup; !cgroup.empty())
    who = fmt::format("all processes of cgroup {}, including {}", base::printable(cgroup), who);
  std::string text = wrapped(fmt::format("Memory {} by {}, measured with {}: {}.",
                                         text_.tells_writes ? "written" : "touched", who,
                                         backend.name(), backend.how()));
  text += choiceText(subject_.choice, options_.columns);
  if (subject_.rolling == nullptr) return text + header();
  return text +
         wrapped(
             "Each column shows the MB touched within the time of its heading. Never: not touched "
             "since the measurement began.");
}

std::string OneTextPrinter::window(const OneWindow& window) {
  const Row& row = window.row;
  const RollingWindows* rolling = subject_.rolling;
  Course course = subject_.plan.course;
  rows_ += 1;
  most_.stall_ns = std::max(most_.stall_ns, row.cost.stall_ns);
  most_.stopped_ns = std::max(most_.stopped_ns, row.cost.stopped_ns);
  std::string text;
  // After a list the header stands again, but only if a row follows.
  if (options_.by && rows_ > 1) text += "\n" + header();
  text += rolling != nullptr ? rolling->rowText(row) : rowText(row, text_);
  Touched touched = touchedIn(row);
  if (course != Course::kSingle) {
    unseen_.add(row.meanwhile.unseen);
    repeats_ = repeatsSentence(row, text_.knows_sharing);
  }
  if (row.meanwhile.is_reclaimed && course != Course::kSingle) {
    last_reclaimed_ = row.meanwhile;
    windows_reclaimed_ += 1;
  }
  if (course == Course::kSingle) {
    for (const std::string& one : reclaimSentences(row)) text += wrapped(one);
    text += rowNotes(row, text_) + (text_.tells_writes
                                        ? writesText(row, text_)
                                        : fitText(touched, row, machine_, text_.columns));
    text += cgroupText(row, text_.columns);
  }
  if (minutes_) minutes_->add(row, rolling != nullptr ? &rolling->last() : nullptr);
  if (course == Course::kProfile) profile_.push_back(touched);
  if (course != Course::kSnapshots) cold_ = coldText(row, text_.columns);
  if (!options_.by) return text;
  return text + "\n" + groupsText(groupsOf(row, *options_.by), *options_.by, options_.top, text_);
}

std::string OneTextPrinter::end(const Ending& /*ending*/) {
  std::string text;
  if (std::string chart = profileText(profile_, machine_, text_.columns); !chart.empty())
    text += "\n" + chart;
  text += cold_ + warnings();
  if (subject_.rolling != nullptr)
    text += subject_.rolling->closingText(text_.columns, options_.colour);
  // A run that was too short reports no limit: few runs are meant to find one.
  if (!minutes_) return text;
  if (SuggestedLimit limit = minutes_->limit(); limit.bytes) text += "\n" + wrapped(limit.text());
  return text;
}

// What happened meanwhile that the figures depend on.
std::string OneTextPrinter::warnings() const {
  std::vector<std::string> sentences =
      reclaimSentences(windows_reclaimed_, static_cast<size_t>(rows_), last_reclaimed_);
  sentences.push_back(unseenSentence(unseen_));
  sentences.push_back(repeats_);
  sentences.push_back(stallSentence(most_, options_.most_stall_ms, "the process"));
  if (rows_ > 0 && subject_.process.isStopped())
    sentences.emplace_back(
        "Careful: the process is stopped (SIGSTOP, or a debugger), so it touches nothing.");
  return cautionText(sentences, text_.columns);
}

}  // namespace tidegauge::wss
