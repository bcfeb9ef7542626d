// What of a process is not watched, as a session keeps it. It is found when a process maps a
// library, often before the process makes its first call (and so has a number), and near an exec
// before that exec has taken its place among the calls: so it waits a moment, and goes to the
// program that ran at that time.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>

#include "record/session/session.h"

namespace tidegauge::record {
namespace {

constexpr int64_t kSettled_ns = 200'000'000;
constexpr int64_t kNeverSeen_ns = 5'000'000'000;
constexpr size_t kMaxWaiting = 4096;
constexpr size_t kMaxOfAProcess = 500;
constexpr const char* kMore = "more was not watched than is kept";

std::string keyOf(const model::Unwatched& it) {
  return fmt::format("{}\n{}\n{}", it.library, it.function, it.reason);
}

bool isGone(uint32_t pid) { return kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH; }

}  // namespace

void Session::unwatched(const model::Unwatched& what, int64_t at_ns) {
  std::string key = fmt::format("{}\n{}", what.pid, keyOf(what));
  if (unwatched_.size() >= kMaxWaiting && !unwatched_.contains(key)) {
    if (more_unwatched_) return;
    more_unwatched_ = true;
    model::Unwatched more;
    more.figures = model::FigureSet::all();
    more.reason = kMore;
    if (book_ != nullptr) book_->addUnwatched(std::nullopt, more);
    writeUnwatchedOfNone(more);
    return;
  }
  unwatched_.try_emplace(std::move(key), WaitingUnwatched{what, at_ns, false});
}

void Session::assignUnwatched(int64_t now_ns, bool again) {
  auto is_due = [&](const auto& entry) {
    const WaitingUnwatched& it = entry.second;
    return finishing_ || ((again || !it.was_tried) && now_ns - it.at_ns >= kSettled_ns);
  };
  if (std::none_of(unwatched_.begin(), unwatched_.end(), is_due)) return;
  std::map<uint32_t, std::vector<uint32_t>> by_pid;  // programs one after the other
  for (const SessionProcess& process : processes_)
    by_pid[process.seen.pid].push_back(process.seen.index);
  // True: it has found its place.
  auto settle = [&](WaitingUnwatched& it) {
    const model::Unwatched& what = it.what;
    int64_t at_ns = it.at_ns;
    it.was_tried = true;
    SessionProcess* owner = nullptr;
    for (uint32_t process : by_pid[what.pid]) {
      SessionProcess& program = processes_[process];
      if (program.ended_ns && *program.ended_ns <= at_ns) continue;
      owner = &program;
      break;
    }
    if (owner == nullptr) {
      bool never = finishing_ || (now_ns - at_ns > kNeverSeen_ns && isGone(what.pid));
      if (never) writeUnwatchedOfNone(what);
      return never;
    }
    std::set<std::string>& known = owner->unwatched_told;
    if (known.contains(keyOf(what)) || known.contains(kMore)) return true;
    model::Unwatched told = what;
    known.insert(known.size() < kMaxOfAProcess ? keyOf(what) : kMore);
    if (known.contains(kMore)) {
      told.library = told.function = "";
      told.figures = model::FigureSet::all();
      told.reason = kMore;
    }
    owner->unwatched.add(told.figures);
    if (book_ != nullptr) book_->addUnwatched(owner->seen.index, told);
    if (ring_) owner->unwatched_rows.push_back(told);
    uint32_t row = fileProcess(owner->seen.index);
    write([&](auto& file) { return file.addUnwatched(told, row); });
    return true;
  };
  for (auto at = unwatched_.begin(); at != unwatched_.end();)
    at = is_due(*at) && settle(at->second) ? unwatched_.erase(at) : std::next(at);
}

void Session::writeUnwatchedOfNone(const model::Unwatched& what) {
  if (ring_ && unwatched_of_none_.size() <= kMaxWaiting) unwatched_of_none_.push_back(what);
  write([&](auto& file) { return file.addUnwatched(what, std::nullopt); });
}

model::FigureSet Session::incompleteOf(const SessionProcess& process) const {
  model::FigureSet figures = process.unwatched;
  for (const auto& [key, waiting] : unwatched_)  // at most a moment longer
    if (waiting.what.pid == process.seen.pid &&
        !(process.ended_ns && *process.ended_ns <= waiting.at_ns))
      figures.add(waiting.what.figures);
  if (more_unwatched_) figures = model::FigureSet::all();
  for (size_t i = 0; i < LOSS_KINDS; ++i)
    if (losses_[i] != 0) figures.add(model::figuresOfLoss(lossReason(i)));
  return figures;
}

}  // namespace tidegauge::record
