#include "wss/output/several_text_printer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text_layout.h"
#include "wss/words/cache_text.h"
#include "wss/words/choice_text.h"
#include "wss/words/reclaim_text.h"
#include "wss/words/row_text.h"
#include "wss/words/several_text.h"

namespace tidegauge::wss {
namespace {

// Only those that still run can be named; others may have begun and ended.
std::string unseenText(const std::vector<pid_t>& unseen) {
  constexpr size_t kMaxNames = 5;
  std::string names;
  for (size_t i = 0; i < std::min(unseen.size(), kMaxNames); ++i)
    names += fmt::format("{}{}", i == 0 ? "" : ", ", unseen[i]);
  if (unseen.size() > kMaxNames) names += fmt::format(" and {} more", unseen.size() - kMaxNames);
  return fmt::format(
      "Careful: process{} {} started during the measurement and {} not included. Windows of -s 0 "
      "and --rolling include processes that started before the window.",
      unseen.size() == 1 ? "" : "es", names, unseen.size() == 1 ? "is" : "are");
}

std::string nameIn(const Watched& watched, pid_t pid) {
  for (const Process& process : watched.processes())
    if (process.pid() == pid) return process.name();
  return {};
}

}  // namespace

SeveralTextPrinter::SeveralTextPrinter(const SeveralSubject& subject, const PrintOptions& options)
    : subject_(subject), options_(options) {
  const auto& processes = subject.watched.processes();
  machine_ = lookAtMachine(processes);
}

std::string SeveralTextPrinter::wrapped(const std::string& words) const {
  return base::wrapped(words, options_.columns, 0, 2);
}

std::string SeveralTextPrinter::begin() {
  const Choice& choice = subject_.choice;
  size_t processes = subject_.watched.processes().size();
  return wrapped(fmt::format("Memory touched by {} process{}, measured with {}: {}.", processes,
                             processes == 1 ? "" : "es", choice.backend->name(),
                             choice.backend->how())) +
         choiceText(choice, options_.columns);
}

std::string SeveralTextPrinter::window(const SeveralWindow& window) {
  most_.stall_ns = std::max(most_.stall_ns, window.all.cost.stall_ns);
  most_.stopped_ns = std::max(most_.stopped_ns, window.all.cost.stopped_ns);
  std::string text = beganText();
  text += subject_.rolling != nullptr ? rollingRow(window) : table(window);
  windows_ += 1;
  if (!options_.by) return text;
  return text + "\n" +
         groupsText(window.groups, *options_.by, options_.top, {.columns = options_.columns});
}

// Those that the window takes in, and the one before did not.
std::string SeveralTextPrinter::beganText() const {
  if (windows_ == 0) return {};
  std::string names;
  for (pid_t pid : subject_.watched.began())
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ",
                         base::printable(nameIn(subject_.watched, pid)), pid);
  return names.empty() ? names : wrapped("From here on with " + names + ".");
}

std::string SeveralTextPrinter::rollingRow(const SeveralWindow& window) {
  unseen_.add(window.all.meanwhile.unseen);
  std::string text;
  if (windows_ > 0 && options_.by) text += "\n" + subject_.rolling->header();
  text += subject_.rolling->rowText(window.all);
  for (const Member& member : window.members)
    if (member.outcome->gone)
      text += wrapped("Not measured: " + base::printable(member.outcome->gone->what) + ".");
  return text;
}

std::string SeveralTextPrinter::table(const SeveralWindow& window) {
  const Row& all = window.all;
  std::string text = windows_ > 0 ? "\n" : "";
  text += severalText(window.members, window.once, options_.top, options_.columns);
  for (const std::string& gap : gapsOf(all)) text += wrapped(gap);
  for (const std::string& one : reclaimSentences(all)) text += wrapped(one);
  Touched touched = touchedIn(all);
  // Without knowing which pages are the same, the sum is of nothing that has to fit.
  if (window.once && subject_.plan.course == Course::kSingle)
    text += fitText(touched, all, machine_, options_.columns);
  if (window.once && subject_.plan.course == Course::kProfile) profile_.push_back(touched);
  if (const CacheUse* use = subject_.choice.backend->outside())
    text += cacheText(*use, options_.top, options_.columns);
  return text;
}

std::string SeveralTextPrinter::end(const Ending& ending) {
  std::string text = cautionText(
      {stallSentence(most_, options_.most_stall_ms, "one of them"), unseenSentence(unseen_)},
      options_.columns);
  if (subject_.rolling != nullptr)
    text += subject_.rolling->closingText(options_.columns, options_.colour);
  if (std::string chart = profileText(profile_, machine_, options_.columns); !chart.empty())
    text += "\n" + chart;
  if (!ending.unseen.empty()) text += wrapped(unseenText(ending.unseen));
  return text;
}

}  // namespace tidegauge::wss
