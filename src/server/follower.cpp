#include "server/follower.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <set>

#include "model/recorded_work.h"
#include "report/words/file_names.h"

namespace tidegauge::server {
namespace {

using readers::recording::GrowingRecording;
using readers::recording::Stamp;
using std::chrono::duration;

constexpr double kLookEvery_s = 0.1;
constexpr double kMinWait_s = 0.25;
constexpr double kWaitAfterError_s = 2;
// Reading takes a tenth of the time; a short one a quarter, so that what is new is shown soon.
constexpr double kWaitPerRead = 9, kWaitPerShortRead = 3, kShort_s = 0.1;
// A file changed this recently counts as being written, on a file system without locks, too.
constexpr double kFresh_s = 5;
constexpr int kNice = 10;

double waitAfter(double read_s) {
  return std::max(kMinWait_s, read_s * (read_s <= kShort_s ? kWaitPerShortRead : kWaitPerRead));
}

// The facts in the newest reading of a file.
const model::RecordedRun* runOf(const Session& session, const std::string& path) {
  const OpenFile* newest = nullptr;
  for (const auto& file : session.files) {
    const auto& work = file->analysed->trace.work;
    if (file->recording != path || !work || !work->run) continue;
    if (newest == nullptr || file->generation > newest->generation) newest = file.get();
  }
  return newest == nullptr ? nullptr : newest->analysed->trace.work->run.get();
}

// The cost of a reading, independent of other load on the machine.
// The time of all threads, because several may join what was read.
double processorSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

double ageOf(const Stamp& stamp) {
  double age = 1e9;
  auto now = std::chrono::system_clock::now().time_since_epoch();
  for (const Stamp::One* one : {&stamp.file, &stamp.journal}) {
    if (one->bytes < 0) continue;
    double then = static_cast<double>(one->seconds) + static_cast<double>(one->nanoseconds) / 1e9;
    age = std::min(age, duration<double>(now).count() - then);
  }
  return std::max(age, 0.0);
}

RecordingStatus::Clock::time_point momentBefore(double seconds) {
  using Clock = RecordingStatus::Clock;
  return Clock::now() - std::chrono::duration_cast<Clock::duration>(duration<double>(seconds));
}

RecordingState stateOf(bool has_end, const std::string& path, const Stamp& stamp) {
  if (has_end) return RecordingState::kEnded;
  if (readers::recording::hasWriter(path)) return RecordingState::kRecording;
  // It was closed cleanly by a writer that records no end.
  bool fresh = ageOf(stamp) < kFresh_s;
  if (fresh) return RecordingState::kRecording;
  return readers::recording::isOpen(path) ? RecordingState::kStopped : RecordingState::kEnded;
}

bool sameRun(const model::RecordedRun& a, const model::RecordedRun& b) {
  return a.processes.size() == b.processes.size() && a.processes.ended_ns == b.processes.ended_ns &&
         a.losses.size() == b.losses.size() && a.ended_ns == b.ended_ns;
}

bool sameTexts(const base::StringPool& a, const base::StringPool& b) {
  if (a.size() != b.size()) return false;
  for (uint32_t i = 0; i < a.size(); ++i) {
    if (a.text(base::StringId(i)) != b.text(base::StringId(i))) return false;
  }
  return true;
}

// A recording only grows, and names arrive late: equal counts and equal texts mean equal traces.
bool sameTrace(const model::Trace& a, const model::Trace& b) {
  if (!a.work || !b.work) return false;
  return a.source.format == b.source.format && a.events.size() == b.events.size() &&
         a.stacks.size() == b.stacks.size() && a.frames.size() == b.frames.size() &&
         a.issues.all().size() == b.issues.all().size() &&
         a.allocations.size() == b.allocations.size() &&
         a.work->kernels.size() == b.work->kernels.size() &&
         a.work->launches.size() == b.work->launches.size() &&
         a.work->copies.size() == b.work->copies.size() && sameRun(*a.work->run, *b.work->run) &&
         sameTexts(a.strings, b.strings);
}

int64_t processOf(const model::Trace& trace) {
  return trace.work ? trace.work->process_id : readers::recording::kNoProcess;
}

// The file of the session that this trace of the recording continues: that of its process, or the
// empty one that stands for a recording without a process yet.
OpenFile* fileOf(const Session& session, const std::string& path, const model::Trace& trace) {
  OpenFile* empty = nullptr;
  for (const auto& file : session.files) {
    if (file->recording != path) continue;
    int64_t process = processOf(file->analysed->trace);
    if (process == processOf(trace)) return file.get();
    if (process == readers::recording::kNoProcess) empty = file.get();
  }
  return empty;
}

}  // namespace

void followRecordings(Session& session, const std::vector<FollowedRecording>& recordings) {
  if (recordings.empty()) return;
  std::vector<RecordingStatus> board;
  for (const FollowedRecording& one : recordings) {
    RecordingStatus status;
    status.path = one.path;
    status.read_s = one.read_s;
    status.wait_s = waitAfter(one.read_s);
    const model::RecordedRun* run = runOf(session, one.path);
    status.state = stateOf(run != nullptr && run->ended_ns, one.path, one.read);
    status.changed_at = momentBefore(ageOf(one.read));
    board.push_back(std::move(status));
  }
  session.board = std::make_shared<RecordingBoard>(std::move(board));
}

Follower::Follower(Application& application, std::vector<FollowedRecording> recordings,
                   std::shared_ptr<const analysis::CategoryRules> rules)
    : application_(application), board_(application.current()->board), rules_(std::move(rules)) {
  if (board_ == nullptr) return;
  std::vector<RecordingStatus> known = board_->all();
  for (size_t i = 0; i < recordings.size() && i < known.size(); ++i) {
    Stamp read = recordings[i].read;
    // The first reading noted the state of the file at that time.
    bool had_writer = known[i].state == RecordingState::kRecording;
    const model::RecordedRun* run = runOf(*application_.current(), recordings[i].path);
    followed_.push_back({.recording = std::move(recordings[i]),
                         .seen = read,
                         .status = known[i],
                         .had_writer = had_writer,
                         .is_part = run != nullptr && run->part.number > 0,
                         .has_end = run != nullptr && run->ended_ns});
  }
}

Follower::~Follower() {
  thread_.request_stop();
  wake_.notify_all();
}

void Follower::start() {
  if (followed_.empty()) return;
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Follower::run(const std::stop_token& stop) {
  // Drawing has priority. On Linux, each thread has its own niceness.
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kNice);
  while (!stop.stop_requested()) {
    look();
    // One that may be read soon is read then. If it was due already, nobody asks.
    auto now = Clock::now();
    auto next = now + std::chrono::duration_cast<Clock::duration>(duration<double>(kLookEvery_s));
    for (const Followed& followed : followed_)
      if (followed.status.behind && followed.next > now) next = std::min(next, followed.next);
    std::unique_lock lock(mutex_);
    wake_.wait_until(lock, stop, next, [] { return false; });
  }
}

bool Follower::look() {
  reuseRetired();
  bool read = false;
  for (size_t i = 0; i < followed_.size(); ++i) {
    read = lookAt(followed_[i]) || read;
    board_->say(i, followed_[i].status);
  }
  return read;
}

// Sessions whose last answer is sent. Nobody can get hold of them again.
void Follower::reuseRetired() {
  for (auto& session : retired_) {
    if (session.use_count() > 1) continue;
    std::atomic_thread_fence(std::memory_order_acquire);
    std::vector<std::shared_ptr<OpenFile>> files = std::move(session->files);
    session = nullptr;  // what it computes ends
    for (std::shared_ptr<OpenFile>& file : files) {
      if (file.use_count() > 1 || file->recording.empty()) continue;
      reuse(std::move(file));
    }
  }
  std::erase(retired_, nullptr);
}

void Follower::reuse(std::shared_ptr<OpenFile> file) {
  for (Followed& followed : followed_) {
    if (followed.recording.path != file->recording || !followed.recording.reader) continue;
    Indexes indexes;
    for (auto& [key, map] : file->maps.takeAll()) {
      if (map.use_count() > 1 || !map->isFollowed()) continue;
      indexes.maps[key] = std::const_pointer_cast<view::AddressMap>(std::move(map));
    }
    // It was made to be changed again, here (readAgain) or by openTraces().
    indexes.analysed.reset(const_cast<analysis::AnalysedTrace*>(file->analysed.release()));
    file = nullptr;  // with all else that was computed of the trace
    indexes.work = indexes.analysed->trace.work;
    followed.recording.reader->takeBack(std::move(indexes.analysed->trace));
    followed.indexes.push_back(std::move(indexes));
    return;
  }
}

uint64_t Follower::continuedTraces() const {
  uint64_t count = 0;
  for (const Followed& followed : followed_)
    if (followed.recording.reader) count += followed.recording.reader->continuedTraces();
  return count;
}

Follower::Before Follower::beforeOf(Followed& followed, const model::Trace& trace) {
  const model::Continuation* it = followed.recording.reader->continuationOf(trace);
  if (it == nullptr) return {};
  auto at = std::find_if(followed.indexes.begin(), followed.indexes.end(),
                         [&](const Indexes& indexes) { return indexes.work == it->of; });
  if (at == followed.indexes.end()) return {};
  return {std::move(*at), *it};
}

RecordingState Follower::stateOf(const Followed& followed, const Stamp& now) const {
  // The end of another file that had this name.
  bool is_same = now.file.device == followed.recording.read.file.device &&
                 now.file.inode == followed.recording.read.file.inode;
  bool has_end = followed.has_end && is_same;
  if (has_end && followed.is_part && ageOf(now) < kFresh_s) return RecordingState::kRecording;
  return server::stateOf(has_end, followed.recording.path, now);
}

bool Follower::lookAt(Followed& followed) {
  const std::string& path = followed.recording.path;
  RecordingStatus& status = followed.status;
  Stamp now = readers::recording::stampOf(path);
  bool is_between = followed.is_part && ageOf(followed.seen) < kFresh_s;
  if (!now.exists() && is_between) return false;
  if (!now.exists()) {
    status.state = RecordingState::kStopped;
    status.error = "the file no longer exists";
    return false;
  }
  if (now != followed.seen) status.changed_at = Clock::now();
  followed.seen = now;
  // The death of a recorder changes nothing in the file, only its meaning.
  bool gone = followed.had_writer && !readers::recording::hasWriter(path);
  status.behind = now != followed.recording.read || gone;
  status.state = stateOf(followed, now);
  if (!status.behind || !board_->isWanted() || Clock::now() < followed.next) return false;
  return readAgain(followed);
}

bool Follower::readAgain(Followed& followed) {
  const std::string& path = followed.recording.path;
  double begin_s = processorSeconds();
  auto begin = Clock::now();
  Stamp stamp = readers::recording::stampOf(path);
  bool has_writer = readers::recording::hasWriter(path);
  std::shared_ptr<GrowingRecording>& reader = followed.recording.reader;
  if (reader == nullptr) {
    reader = std::make_shared<GrowingRecording>(
        path, GrowingRecording::Wanted{.is_followed = true, .takes_back = true});
  }
  // Those of the shown reading may be copied, while none is free yet.
  std::shared_ptr<Session> shown = application_.current();
  for (const auto& file : shown->files)
    if (file->recording == path) reader->lend(file->analysed->trace);
  auto read = reader->read();
  shown = nullptr;
  if (!read.ok() && followed.is_part && ageOf(stamp) < kFresh_s) {
    followed.next = Clock::now() + std::chrono::milliseconds(static_cast<int>(kLookEvery_s * 1000));
    return false;  // a part that has just begun
  }
  followed.status.error.clear();
  if (!read.ok()) {
    followed.status.error = read.error().what;
  } else {
    std::lock_guard changing(application_.changing());
    Session next = successorOf(*application_.current());
    std::vector<std::shared_ptr<OpenFile>> made;
    std::set<int64_t> here;  // without those of an older part
    std::shared_ptr<const model::RecordedRun> run;
    for (model::Trace& trace : read.value()) {
      here.insert(processOf(trace));
      if (trace.work) run = trace.work->run;
      OpenFile* old = fileOf(next, path, trace);
      if (old != nullptr && sameTrace(old->analysed->trace, trace)) {
        reader->takeBack(std::move(trace));
        continue;
      }
      bool empty = processOf(trace) == readers::recording::kNoProcess;
      if (empty) continue;  // nothing of it was shown, and nothing exists
      Before before = beforeOf(followed, trace);
      trace.source.name = path + "/" + trace.source.name;
      size_t id = old == nullptr ? next.files.size() : old->id;
      std::vector<std::string> paths;
      for (const auto& file : next.files) paths.push_back(file->analysed->trace.source.name);
      paths.resize(std::max(paths.size(), id + 1));
      paths[id] = trace.source.name;
      auto file = std::make_shared<OpenFile>(
          id, report::distinctNames(paths)[id],
          std::make_unique<analysis::AnalysedTrace>(
              std::move(trace), rules_,
              analysis::BeforeTrace{std::move(before.indexes.analysed), before.continuation}));
      file->earlier_maps.set(std::move(before.indexes.maps), std::move(before.continuation));
      file->recording = path;
      file->generation = generation_ + 1;
      if (old != nullptr) file->marks.continueFrom(old->marks);
      if (id == next.files.size()) next.files.emplace_back();
      next.files[id] = file;
      made.push_back(std::move(file));
    }
    // Processes without changes keep their data, and get the new sums of the others.
    std::vector<OpenFile*> its;
    std::vector<const analysis::AnalysedTrace*> all;
    for (const auto& file : next.files) {
      if (file->recording != path || !here.contains(processOf(file->analysed->trace))) continue;
      its.push_back(file.get());
      all.push_back(file->analysed.get());
    }
    followed.indexes.clear();
    followed.is_part = run && run->part.number > 0;
    followed.has_end = run && run->ended_ns;
    // It takes memory, and nothing follows, unless another file takes the name.
    if (followed.has_end || !has_writer) reader = nullptr;
    auto whole =
        std::make_shared<const analysis::WholeRecording>(analysis::wholeRecording(all, run));
    for (OpenFile* file : its) file->tell(whole);
    if (!made.empty()) {
      ++generation_;
      warm(next, made);
      if (auto old = application_.replace(std::move(next))) retired_.push_back(std::move(old));
    }
  }
  if (read.ok()) {
    followed.recording.read = stamp;
    followed.had_writer = has_writer;
  }
  followed.status.behind = !read.ok();
  followed.status.read_s = processorSeconds() - begin_s;
  followed.status.wait_s =
      std::max(read.ok() ? kMinWait_s : kWaitAfterError_s, waitAfter(followed.status.read_s));
  // Also if others keep the machine busy: a recorder cannot end a part that is being read.
  double took_s = duration<double>(Clock::now() - begin).count();
  followed.status.wait_s = std::max(followed.status.wait_s, took_s);
  followed.status.state = stateOf(followed, stamp);
  followed.next = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     duration<double>(followed.status.wait_s));
  return true;
}

}  // namespace tidegauge::server
