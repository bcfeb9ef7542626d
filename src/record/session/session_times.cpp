#include "record/session/session_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/text_layout.h"
#include "record/code/demangle.h"
#include "record/kernel/even_clock.h"
#include "record/session/session_words.h"

namespace tidegauge::record {
namespace {

constexpr size_t kMaxTimesWaiting = 200'000;
constexpr size_t kMaxTimedPrograms = 10'000;      // that run
constexpr size_t kMaxDeviceNames = 200'000;       // of a part
constexpr int64_t kPatience_ns = 60'000'000'000;  // for the process of an image
constexpr size_t kMaxProblems = 20;
constexpr uint32_t kFirstNamedVersion = 10'000;  // 130402 is 13.4, update 2

constexpr std::string_view kActivityKinds[] = {"kernel", "copy", "set"};
constexpr std::string_view kOutcomeWords[] = {"", "timed", "no library", "refused", "new version"};

}  // namespace

std::string cuptiName(uint32_t version) {
  if (version == 0) return "CUPTI";
  if (version < kFirstNamedVersion) return fmt::format("CUPTI with API version {}", version);
  return fmt::format("CUPTI {}.{}", version / 10'000, version / 100 % 100);
}

std::string problemOf(const DeviceState& it) {
  switch (it.outcome) {
    case INJECTION_NO_LIBRARY:
      return "libcupti was not found (libcupti.so.13, .12 or .11.8 in the loader's paths, beside "
             "the program's Python packages, or in CUDA_HOME)";
    case INJECTION_REFUSED:
      if (it.call == "dlsym") return it.library + " is not CUPTI: it lacks functions";
      return fmt::format("{}() of {} refused: {}{}", it.call, cuptiName(it.version), it.code,
                         it.reason.empty() ? "" : " " + it.reason);
    case INJECTION_NEW_VERSION:
      return cuptiName(it.version) + " is not one whose records are known (11.8 to 13.5)";
    case INJECTION_TIMES:
    case INJECTION_OUTCOMES:
      break;
  }
  return {};
}

void SessionTimes::begin(TimesReader reader) {
  reader_.emplace(std::move(reader));
  file_.setMeta("device_times", "1");
}

bool SessionTimes::isKept(const Program& program) const {
  return program.process && processes_.contains(*program.process);
}

// A pid may have run several programs: the image is of the one that runs now. The source may be a
// round behind, and not know of the exec yet: so a new image waits for one.
std::optional<uint32_t> SessionTimes::processOf(uint32_t image, uint32_t pid) {
  auto known = programs_.find(image);
  if (known == programs_.end()) {
    if (programs_.size() >= kMaxTimedPrograms || forgotten_.contains(image)) return std::nullopt;
    known = programs_.try_emplace(image).first;
    known->second.looked = takes_;
    known->second.since_ns = evenClock().now_ns();
    if (!at_end_) return std::nullopt;
  } else if (isKept(known->second)) {
    return known->second.process;
  } else if (known->second.process || (known->second.looked == takes_ && !at_end_)) {
    return std::nullopt;  // ended long ago, or searched for in this take
  }
  Program& program = known->second;
  program.looked = takes_;
  const SessionProcess* found = nullptr;
  for (const SessionProcess& it : processes_.rows())
    if (it.seen.pid == pid && (found == nullptr || it.seen.first_ns >= found->seen.first_ns))
      found = &it;
  if (found != nullptr) program.process = found->seen.index;
  return program.process;
}

void SessionTimes::take(bool at_end) {
  if (!reader_) return;
  takes_ += 1;
  at_end_ = at_end;
  std::vector<Kept> before = std::exchange(waiting_, {});
  int64_t now_ns = evenClock().now_ns();
  auto mayWait = [&](uint32_t image) {
    auto program = programs_.find(image);
    return !at_end && waiting_.size() < kMaxTimesWaiting && program != programs_.end() &&
           !program->second.process && now_ns - program->second.since_ns < kPatience_ns;
  };
  auto place = [&](const DeviceActivity& seen) {  // false: it has to wait
    if (std::optional<uint32_t> process = processOf(seen.image, seen.pid))
      write(seen, *process);
    else if (mayWait(seen.image))
      return false;
    else
      reader_->lose(TimesLoss::kNobody);
    return true;
  };
  for (Kept& it : before) {
    it.seen.name = it.name;
    if (!place(it.seen)) waiting_.push_back(std::move(it));
  }
  auto activityCame = [&](const DeviceActivity& seen) {
    if (!place(seen)) waiting_.push_back({seen, std::string(seen.name)});
  };
  auto stateCame = [&](const DeviceState& state) {
    (void)processOf(state.image, state.pid);
    auto program = programs_.find(state.image);
    if (program != programs_.end()) program->second.state = state;
  };
  reader_->read(stateCame, activityCame);
  // Once more for names that came after their activities.
  if (at_end) reader_->read(stateCame, activityCame);
  for (auto& [image, program] : programs_)
    if (program.state && !program.is_written && (at_end || processOf(image, program.state->pid)))
      writeState(program);
  writeLosses();
}

void SessionTimes::write(const DeviceActivity& seen, uint32_t process) {
  store::DeviceActivityRow row;
  row.start_ns = seen.start_ns;
  row.end_ns = seen.end_ns;
  row.process = processes_.inFile(process);
  row.kind = kActivityKinds[seen.kind];
  if (seen.kind != INJECTION_KERNEL) {
    row.direction = directionName(seen.direction);
    row.size_bytes = seen.bytes;
  }
  row.device = seen.device;
  row.context = seen.context;
  row.stream = seen.stream;
  row.correlation = seen.correlation;
  auto known = names_.find(seen.name);
  if (!seen.name.empty() && known == names_.end() && names_.size() >= kMaxDeviceNames) {
    reader_->lose(TimesLoss::kNames);
  } else if (!seen.name.empty()) {
    if (known == names_.end()) {
      auto id = static_cast<uint32_t>(names_.size());
      known = names_.try_emplace(std::string(seen.name), id).first;
      file_.write([&](auto& file) { return file.addDeviceName(id, demangled(known->first)); });
    }
    row.name = known->second;
  }
  activities_ += 1;
  programs_[seen.image].activities += 1;
  file_.write([&](auto& file) { return file.addDeviceActivity(row); });
}

void SessionTimes::writeState(Program& program) {
  const DeviceState& state = *program.state;
  store::DeviceProgramRow row;
  row.time_ns = state.time_ns;
  if (isKept(program)) row.process = processes_.inFile(*program.process);
  row.pid = state.pid;
  row.outcome = kOutcomeWords[state.outcome];
  std::string problem = record::problemOf(state);
  row.reason = problem;
  row.library = state.library;
  row.version = state.version;
  row.clock_error_ns = state.clock_error_ns;
  program.is_written = true;
  file_.write([&](auto& file) { return file.addDeviceProgram(row); });
}

void SessionTimes::writeLosses() {
  TimesLosses now = reader_->losses();
  for (size_t i = 0; i < now.size(); ++i) {
    if (now[i] <= written_[i]) continue;
    uint64_t more = now[i] - written_[i];
    file_.write([&](auto& file) {
      return file.addLoss(evenClock().now_ns(), timesLossReason(static_cast<TimesLoss>(i)), more);
    });
    written_[i] = now[i];
  }
}

// A part after a loss is as incomplete as the one in which it was.
void SessionTimes::beginPart() {
  if (!reader_) return;
  names_.clear();
  written_ = {};
  file_.setMeta("device_times", "1");
  for (auto& [image, program] : programs_) {
    bool has_ended = isKept(program) && processes_[*program.process].ended_ns;
    program.is_written = has_ended;  // its row is in an earlier part
    if (program.state && isKept(program) && !has_ended) writeState(program);
  }
  writeLosses();
}

void SessionTimes::forgetProcess(uint32_t process) {
  if (!reader_) return;
  for (auto it = programs_.begin(); it != programs_.end();) {
    if (it->second.process != process) {
      ++it;
      continue;
    }
    if (std::string words = problemOf(it->second);
        !words.empty() && ended_problems_.size() <= kMaxProblems)
      ended_problems_.push_back(std::move(words));
    reader_->forget(it->first);
    forgotten_.insert(it->first);
    it = programs_.erase(it);
  }
}

std::string SessionTimes::problemOf(const Program& program) const {
  if (!program.state) return {};
  std::string words = record::problemOf(*program.state);
  if (words.empty() && program.activities == 0)
    words =
        cuptiName(program.state->version) + " was switched on and delivered no kernel, copy or set";
  if (words.empty()) return {};
  std::string name =
      isKept(program) ? processes_[*program.process].seen.name + ", " : std::string();
  return base::printable(fmt::format("{}pid {}: {}", name, program.state->pid, words));
}

std::vector<std::string> SessionTimes::problems() const {
  std::vector<std::string> list = ended_problems_;
  for (const auto& [image, program] : programs_)
    if (std::string words = problemOf(program); !words.empty() && list.size() <= kMaxProblems)
      list.push_back(std::move(words));
  if (list.size() > kMaxProblems) list.back() = "and more";
  return list;
}

}  // namespace tidegauge::record
