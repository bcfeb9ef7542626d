#include "record/times/times_reader.h"

#include <signal.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/sizes.h"
#include "bpf/records.h"
#include "record/kernel/even_clock.h"

namespace tidegauge::record {
namespace {

constexpr size_t kMaxImages = 10'000;
constexpr size_t kMaxNamesOfImage = 20'000;
constexpr size_t kMaxNames_bytes = size_t{256} << 20;
constexpr uint32_t kMaxDevice = 1024;
constexpr uint64_t kSlack_ns = 1'000'000'000;  // CUPTI interpolates between two clocks
constexpr uint64_t kLookEvery_ns = 1'000'000'000;

uint64_t monotonicNow() { return EvenClock::ofSystem_ns(CLOCK_MONOTONIC); }

template <class T>
T loaded(const T& shared) {
  return __atomic_load_n(&shared, __ATOMIC_ACQUIRE);
}
template <class T>
void stored(T& shared, T value) {
  __atomic_store_n(&shared, value, __ATOMIC_RELEASE);
}

template <size_t N>
std::string text(const char (&of)[N]) {
  return {of, strnlen(of, N)};
}

// Its next owner is not mistaken for the last one before it has written its own number.
void free(injection_chunk& chunk) {
  chunk.read = chunk.written = 0;
  chunk.tgid = chunk.image = 0;
  stored(chunk.state, static_cast<uint32_t>(INJECTION_FREE));
}

}  // namespace

std::string_view timesLossReason(TimesLoss loss) {
  constexpr std::array<std::string_view, kTimesLosses> kReasons = {
      "no room for device times",        "device times dropped by CUPTI",
      "device times not readable",       "no room for a kernel's name in device times",
      "device times not measured",       "device times not plausible",
      "device times of unknown programs"};
  return kReasons[static_cast<size_t>(loss)];
}

TimesReader::TimesReader(TimesArea area) : area_(std::move(area)), began_ns_(monotonicNow()) {}

uint32_t TimesReader::programs() const { return loaded(area_->head.next_image) - 1; }

TimesLosses TimesReader::losses() const {
  TimesLosses losses = own_;
  constexpr std::pair<injection_loss, TimesLoss> kShared[] = {
      {INJECTION_LOST_ROOM, TimesLoss::kRoom},
      {INJECTION_LOST_CUPTI, TimesLoss::kCupti},
      {INJECTION_LOST_BAD, TimesLoss::kBad},
      {INJECTION_LOST_NAMES, TimesLoss::kNames}};
  for (auto [shared, loss] : kShared)
    losses[static_cast<size_t>(loss)] += loaded(area_->head.losses[shared]);
  return losses;
}

bool TimesReader::isPlausible(const injection_activity& seen) {
  if (seen.start_ns == 0 && seen.end_ns == 0) {
    lose(TimesLoss::kNotMeasured);
    return false;
  }
  bool fits = seen.kind < INJECTION_KINDS && seen.copy < COPY_DIRECTIONS &&
              seen.device < kMaxDevice && seen.bytes <= base::kMaxSizeBytes &&
              seen.start_ns <= seen.end_ns && seen.start_ns + kSlack_ns >= began_ns_ &&
              seen.end_ns <= monotonicNow() + kSlack_ns;
  if (!fits) lose(TimesLoss::kAbsurd);
  return fits;
}

void TimesReader::forget(uint32_t image) {
  auto names = names_.extract(image);
  if (!names) return;
  for (const auto& [id, name] : names.mapped()) names_bytes_ -= name.size();
}

void TimesReader::readEntry(const injection_entry& entry, const uint8_t* bytes, uint32_t image,
                            uint32_t pid, std::vector<DeviceState>& states) {
  if (entry.type == INJECTION_ACTIVITY && entry.bytes >= sizeof(injection_activity)) {
    injection_activity seen{};
    std::memcpy(&seen, bytes, sizeof(seen));
    if (isPlausible(seen)) fresh_.push_back({image, pid, seen});
    return;
  }
  if (entry.type == INJECTION_NAME && entry.bytes >= sizeof(injection_name)) {
    injection_name name{};
    std::memcpy(&name, bytes, sizeof(name));
    const char* from = reinterpret_cast<const char*>(bytes) + sizeof(name);
    size_t room = std::min<size_t>(entry.bytes - sizeof(name), INJECTION_NAME_BYTES);
    bool fits = name.length <= room && (names_.contains(image) || names_.size() < kMaxImages);
    if (fits && names_[image].size() < kMaxNamesOfImage &&
        names_bytes_ + name.length <= kMaxNames_bytes) {
      bool is_new =
          names_[image].try_emplace(name.id, std::string(from, strnlen(from, name.length))).second;
      if (is_new) names_bytes_ += names_[image][name.id].size();
      return;
    }
    if (name.length <= room) {
      lose(TimesLoss::kNames);
      return;
    }
  }
  injection_state seen{};
  if (entry.type == INJECTION_STATE && entry.bytes >= sizeof(seen)) {
    std::memcpy(&seen, bytes, sizeof(seen));
    if (seen.outcome >= INJECTION_TIMES && seen.outcome < INJECTION_OUTCOMES &&
        states.size() < kMaxImages) {
      DeviceState state;
      state.image = image;
      state.pid = pid;
      state.time_ns = evenClock().of_ns(std::clamp(seen.time_ns, began_ns_, monotonicNow()));
      state.outcome = static_cast<injection_outcome>(seen.outcome);
      state.version = seen.version;
      state.code = seen.code;
      state.call = text(seen.call);
      state.reason = text(seen.reason);
      state.library = text(seen.library);
      state.clock_error_ns = seen.own_clock != 0 ? seen.clock_error_ns : 0;
      states.push_back(std::move(state));
      return;
    }
  }
  lose(TimesLoss::kBad);
}

void TimesReader::readChunk(injection_chunk& chunk, std::vector<DeviceState>& states) {
  // Before `written`: then nothing more follows.
  bool is_full = loaded(chunk.state) == INJECTION_FULL;
  uint32_t written = std::min<uint32_t>(loaded(chunk.written), sizeof(chunk.bytes));
  uint32_t at = std::min<uint32_t>(chunk.read, written);
  uint32_t image = chunk.image, pid = chunk.tgid;
  std::vector<uint8_t> bytes(chunk.bytes + at, chunk.bytes + written);  // may change under us
  size_t from = 0;
  while (from < bytes.size()) {
    injection_entry entry{};
    if (bytes.size() - from < sizeof(entry)) break;
    std::memcpy(&entry, bytes.data() + from, sizeof(entry));
    if (entry.bytes > bytes.size() - from - sizeof(entry)) break;
    from += sizeof(entry);
    readEntry(entry, bytes.data() + from, image, pid, states);
    from += (size_t{entry.bytes} + 7) & ~size_t{7};
  }
  if (from < bytes.size()) lose(TimesLoss::kBad);
  chunk.read = written;
  if (is_full) free(chunk);
}

void TimesReader::read(const std::function<void(const DeviceState&)>& state,
                       const std::function<void(const DeviceActivity&)>& activity) {
  std::vector<DeviceState> states;
  fresh_.clear();
  uint64_t now_ns = monotonicNow();
  bool looks = now_ns >= next_look_ns_;
  if (looks) next_look_ns_ = now_ns + kLookEvery_ns;
  for (uint32_t i = 0; i < area_.chunks(); ++i) {
    injection_chunk& chunk = area_->chunks[i];
    if (loaded(chunk.state) == INJECTION_FREE) continue;
    // A program that was killed does not return its chunk.
    auto owner = static_cast<pid_t>(loaded(chunk.tgid));
    bool is_gone = looks && owner > 0 && kill(owner, 0) != 0 && errno == ESRCH;
    readChunk(chunk, states);
    if (is_gone && loaded(chunk.state) == INJECTION_TAKEN) free(chunk);
  }
  for (const DeviceState& it : states) state(it);
  std::vector<Waiting> later;
  auto give = [&](const Waiting& it, bool may_wait) {
    DeviceActivity seen;
    if (it.seen.name != 0) {
      auto names = names_.find(it.image);
      bool is_known = names != names_.end() && names->second.contains(it.seen.name);
      if (!is_known && may_wait) {
        later.push_back(it);
        return;
      }
      if (is_known) seen.name = names->second.at(it.seen.name);
    }
    seen.image = it.image;
    seen.pid = it.pid;
    seen.start_ns = evenClock().of_ns(it.seen.start_ns);
    seen.end_ns = evenClock().of_ns(it.seen.end_ns);
    seen.bytes = it.seen.bytes;
    seen.device = it.seen.device;
    seen.context = it.seen.context;
    seen.stream = it.seen.stream;
    seen.correlation = it.seen.correlation;
    seen.kind = static_cast<injection_kind>(it.seen.kind);
    seen.direction = it.seen.copy;
    activity(seen);
  };
  for (const Waiting& it : again_) give(it, false);
  for (const Waiting& it : fresh_) give(it, true);
  again_ = std::move(later);
}

}  // namespace tidegauge::record
