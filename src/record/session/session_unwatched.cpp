#include "record/session/session_unwatched.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <set>
#include <utility>

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

void SessionUnwatched::add(const model::Unwatched& what, int64_t at_ns) {
  std::string key = fmt::format("{}\n{}", what.pid, keyOf(what));
  if (waiting_.size() >= kMaxWaiting && !waiting_.contains(key)) {
    if (has_more_) return;
    has_more_ = true;
    model::Unwatched more;
    more.figures = model::FigureSet::all();
    more.reason = kMore;
    if (book_ != nullptr) book_->addUnwatched(std::nullopt, more);
    writeWithoutProcess(more);
    return;
  }
  waiting_.try_emplace(std::move(key), Waiting{what, at_ns, false});
}

void SessionUnwatched::processSeen(uint32_t pid) {
  for (auto& [key, waiting] : waiting_)
    if (waiting.what.pid == pid) waiting.was_tried = false;
}

void SessionUnwatched::assign(int64_t now_ns, When when) {
  auto is_due = [&](const auto& entry) {
    const Waiting& it = entry.second;
    return when == When::kAtTheEnd ||
           ((when == When::kAgain || !it.was_tried) && now_ns - it.at_ns >= kSettled_ns);
  };
  if (std::none_of(waiting_.begin(), waiting_.end(), is_due)) return;
  std::map<uint32_t, std::vector<uint32_t>> programs;  // by pid, one after the other
  for (const SessionProcess& process : processes_.rows())
    programs[process.seen.pid].push_back(process.seen.index);
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    bool is_settled =
        is_due(*at) && settle(at->second, programs[at->second.what.pid], now_ns, when);
    at = is_settled ? waiting_.erase(at) : std::next(at);
  }
}

// True: it has found its place.
bool SessionUnwatched::settle(Waiting& waiting, const std::vector<uint32_t>& programs,
                              int64_t now_ns, When when) {
  waiting.was_tried = true;
  for (uint32_t process : programs) {
    SessionProcess& program = processes_[process];
    if (program.ended_ns && *program.ended_ns <= waiting.at_ns) continue;
    giveTo(program, waiting.what);
    return true;
  }
  bool never = when == When::kAtTheEnd ||
               (now_ns - waiting.at_ns > kNeverSeen_ns && isGone(waiting.what.pid));
  if (never) writeWithoutProcess(waiting.what);
  return never;
}

void SessionUnwatched::giveTo(SessionProcess& owner, const model::Unwatched& what) {
  std::set<std::string>& known = owner.unwatched_keys;
  if (known.contains(keyOf(what)) || known.contains(kMore)) return;
  model::Unwatched row = what;
  known.insert(known.size() < kMaxOfAProcess ? keyOf(what) : kMore);
  if (known.contains(kMore)) {
    row.library = row.function = "";
    row.figures = model::FigureSet::all();
    row.reason = kMore;
  }
  owner.unwatched.add(row.figures);
  if (book_ != nullptr) book_->addUnwatched(owner.seen.index, row);
  if (file_.hasParts()) owner.unwatched_rows.push_back(row);
  uint32_t id = processes_.inFile(owner.seen.index);
  file_.write([&](auto& file) { return file.addUnwatched(row, id); });
}

void SessionUnwatched::writeWithoutProcess(const model::Unwatched& what) {
  if (file_.hasParts() && without_process_.size() <= kMaxWaiting) without_process_.push_back(what);
  file_.write([&](auto& file) { return file.addUnwatched(what, std::nullopt); });
}

void SessionUnwatched::beginPart() {
  for (const model::Unwatched& what : without_process_)
    file_.write([&](auto& file) { return file.addUnwatched(what, std::nullopt); });
  for (const SessionProcess& process : processes_.rows()) {
    if (process.ended_ns) continue;
    uint32_t id = processes_.inFile(process.seen.index);
    for (const model::Unwatched& what : process.unwatched_rows)
      file_.write([&](auto& file) { return file.addUnwatched(what, id); });
  }
}

model::FigureSet SessionUnwatched::incompleteOf(const SessionProcess& process) const {
  if (has_more_) return model::FigureSet::all();
  model::FigureSet figures = process.unwatched;
  for (const auto& [key, waiting] : waiting_)  // at most a moment longer
    if (waiting.what.pid == process.seen.pid &&
        !(process.ended_ns && *process.ended_ns <= waiting.at_ns))
      figures.add(waiting.what.figures);
  return figures;
}

}  // namespace tidegauge::record
