#include "record/preload/preload.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "record/decode.h"
#include "record/kernel/even_clock.h"
#include "record/kernel/functions.h"
#include "record/process/running_process.h"

namespace tidegauge::record {
namespace {

// Input from the programs is bounded.
constexpr size_t kMaxPrograms = 100'000;
constexpr size_t kMaxStacks = 1'000'000;             // whose call has not arrived yet
constexpr size_t kMaxLinesBytes = size_t{64} << 20;  // of code objects that have not arrived
constexpr size_t kMaxNames = 1'000'000;              // of programs that are not known yet

constexpr uint64_t kAhead_ns = 1'000'000'000;  // a later time is no record's
constexpr uint64_t kBetweenLooks_ns = 1'000'000'000;
constexpr const char* kWithoutLibrary =
    "it did not load the library of --preload (it is static or setuid, has a root or namespace of "
    "its own, or LD_PRELOAD was changed)";
constexpr const char* kUnreadable =
    "it runs with other rights (setuid), so it may use CUDA without the library of --preload";

uint64_t monotonicNow() { return EvenClock::ofSystem_ns(CLOCK_MONOTONIC); }
int64_t toEpoch(uint64_t monotonic_ns) { return evenClock().of_ns(monotonic_ns); }

template <class T>
T loaded(const T& shared) {
  return __atomic_load_n(&shared, __ATOMIC_ACQUIRE);
}
template <class T>
void stored(T& shared, T value) {
  __atomic_store_n(&shared, value, __ATOMIC_RELEASE);
}

// Its next owner is not mistaken for the last one before it has written its own numbers.
void freeChunk(preload_chunk& chunk) {
  chunk.read = chunk.written = 0;
  chunk.tgid = chunk.image = 0;
  stored(chunk.state, static_cast<uint32_t>(CHUNK_FREE));
}

}  // namespace

struct PreloadRecorder::Program {
  uint32_t index = 0;
  uint32_t tgid = 0;
  int pidfd = -1;
  std::optional<PythonFiles::Found> python;
};

// The records of one read, to be sorted by time.
struct PreloadRecorder::Batch {
  std::vector<memory_record> memory;
  std::vector<launch_record> launches;
  std::vector<system_record> system;
  struct Name {
    uint32_t image = 0;
    KernelName name;
  };
  std::vector<Name> names;
  // time, image, kind (0 system, 1 memory, 2 launch), place in its list
  struct Row {
    uint64_t time_ns = 0;
    uint32_t image = 0;
    uint8_t kind = 0;
    uint32_t place = 0;
  };
  std::vector<Row> rows;

  template <class Record>
  void add(std::vector<Record>& list, uint8_t kind, uint64_t time_ns, uint32_t image,
           const Record& record) {
    rows.push_back({time_ns, image, kind, static_cast<uint32_t>(list.size())});
    list.push_back(record);
  }
};

PreloadRecorder::PreloadRecorder(PreloadArea area, RecorderSink& sink)
    : area_(std::move(area)),
      sink_(sink),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      waiting_(std::make_unique<Batch>()) {}

PreloadRecorder::~PreloadRecorder() {
  for (const auto& [image, program] : programs_)
    if (program.pidfd >= 0) close(program.pidfd);
  if (epoll_ >= 0) close(epoll_);
}

PreloadRecorder::Program& PreloadRecorder::program(uint32_t image, uint32_t tgid,
                                                   const system_record* seen) {
  auto found = programs_.find(image);
  if (found != programs_.end()) return found->second;
  uint64_t time_ns = seen != nullptr ? seen->time_ns : monotonicNow();
  // The same process starts another program.
  if (auto before = image_of_.find(tgid); before != image_of_.end())
    end(before->second, time_ns, std::nullopt);
  if (auto stranger = stranger_index_.extract(tgid))
    sink_.processEnded(stranger.mapped(), toEpoch(time_ns), std::nullopt);
  Program& fresh = programs_[image];
  fresh.tgid = tgid;
  fresh.index = next_index_++;
  image_of_[tgid] = image;
  fresh.pidfd = static_cast<int>(syscall(SYS_pidfd_open, tgid, 0));
  if (fresh.pidfd >= 0) {
    fcntl(fresh.pidfd, F_SETFD, FD_CLOEXEC);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u32 = image;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fresh.pidfd, &event);
  } else if (errno == ESRCH) {
    gone_.push_back(image);
  }
  SeenProcess process;
  process.index = fresh.index;
  process.pid = tgid;
  process.command = commandOf(tgid);
  process.name = nameOf(tgid);
  process.from_start = process.names_were_seen = true;
  process.first_ns = toEpoch(time_ns);
  if (seen != nullptr) {
    process.parent = seen->parent;
    if (process.name.empty()) process.name.assign(seen->text, strnlen(seen->text, 16));
    auto parent = seen->event == SYSTEM_FORK ? image_of_.find(seen->parent) : image_of_.end();
    if (parent != image_of_.end()) {
      const Program& from = programs_.at(parent->second);
      process.forked_from = from.index;
      fresh.python = from.python;  // if it has ended before it can be looked at
    }
  }
  sink_.processSeen(process);
  sink_.mappingsChanged(tgid);
  if (area_->head.walk_python)
    if (auto python = python_files_.look(tgid)) fresh.python = std::move(python);
  if (fresh.python) python_.setLoops(image, fresh.python->loops());
  return fresh;
}

void PreloadRecorder::end(uint32_t image, uint64_t time_ns, std::optional<int> status) {
  auto found = programs_.find(image);
  if (found == programs_.end()) return;
  uint32_t tgid = found->second.tgid;
  takeCounts(image);
  sink_.processEnded(found->second.index, toEpoch(time_ns), status);
  if (found->second.pidfd >= 0) close(found->second.pidfd);
  if (auto it = image_of_.find(tgid); it != image_of_.end() && it->second == image)
    image_of_.erase(it);
  programs_.erase(found);
  python_.forget(image);
  auto left_lines = python_lines_.lower_bound({image, 0});
  while (left_lines != python_lines_.end() && left_lines->first.first == image) {
    waiting_lines_bytes_ -= left_lines->second.size();
    left_lines = python_lines_.erase(left_lines);
  }
  if (auto left = stacks_.extract(image)) waiting_stacks_ -= left.mapped().size();
  // Its chunks are free now; their records were read before.
  for (uint32_t i = 0; i < std::min(loaded(area_->head.most_chunks), area_.chunks()); ++i) {
    preload_chunk& chunk = area_->chunks[i];
    if (loaded(chunk.state) != CHUNK_FREE && loaded(chunk.image) == image) freeChunk(chunk);
  }
}

void PreloadRecorder::readEntry(uint32_t type, const uint8_t* bytes, uint32_t size, uint32_t image,
                                Batch& batch) {
  auto take = [&](auto& record) {
    if (size < sizeof(record)) return false;
    std::memcpy(&record, bytes, sizeof(record));
    return true;
  };
  memory_record memory;
  system_record system;
  launch_record launch;
  preload_name name;
  preload_stack stack;
  if (type >= ENTRY_PYTHON_LINES && type <= ENTRY_PYTHON_STACK) {
    readPython(type, {bytes, size}, image);
  } else if (type == ENTRY_MEMORY && take(memory) && memory.function < watchedFunctions().size()) {
    batch.add(batch.memory, 1, memory.end_ns, image, memory);
  } else if (type == ENTRY_SYSTEM && take(system)) {
    batch.add(batch.system, 0, system.time_ns, image, system);
  } else if (type == ENTRY_LAUNCH && take(launch) && launch.function < watchedFunctions().size()) {
    batch.add(batch.launches, 2, launch.time_ns, image, launch);
  } else if (type == ENTRY_NAME && take(name) && name.length <= size - sizeof(name)) {
    const char* text = reinterpret_cast<const char*>(bytes) + sizeof(name);
    batch.names.push_back(
        {image, {0, name.handle, name.of, std::string(text, strnlen(text, name.length))}});
  } else if (type == ENTRY_STACK && take(stack) && stack.frames <= PRELOAD_FRAMES &&
             size - sizeof(stack) >= 8 * uint64_t{stack.frames}) {
    if (waiting_stacks_ >= kMaxStacks) {
      damaged_ += 1;
      return;
    }
    std::vector<uint64_t> frames(stack.frames);
    std::memcpy(frames.data(), bytes + sizeof(stack), 8 * frames.size());
    waiting_stacks_ += stacks_[image].try_emplace(stack.id, std::move(frames)).second;
  } else {
    damaged_ += 1;
  }
}

// As the kernel's walk would send it. A program sends a code object before the stacks that contain
// it, but may do so in another chunk.
void PreloadRecorder::readPython(uint32_t type, std::span<const uint8_t> bytes, uint32_t image) {
  auto take = [&](auto& head) {
    if (bytes.size() < sizeof(head)) return false;
    std::memcpy(&head, bytes.data(), sizeof(head));
    bytes = bytes.subspan(sizeof(head));
    return true;
  };
  preload_lines lines{};
  python_code_record code{};
  preload_python stack{};
  if (type == ENTRY_PYTHON_LINES && take(lines) && lines.at <= PYTHON_LINES_LARGE &&
      waiting_lines_bytes_ < kMaxLinesBytes) {
    std::vector<uint8_t>& table = python_lines_[{image, lines.number}];
    size_t end = lines.at + bytes.size();
    if (table.size() < end) {
      waiting_lines_bytes_ += end - table.size();
      table.resize(end);
    }
    std::copy(bytes.begin(), bytes.end(), table.data() + lines.at);
  } else if (type == ENTRY_PYTHON_CODE && take(code)) {
    code.kind = PYTHON_CODE;
    code.tgid = image;
    auto table = python_lines_.extract({image, code.number});
    std::vector<uint8_t> whole = table ? std::move(table.mapped()) : std::vector<uint8_t>();
    waiting_lines_bytes_ -= whole.size();
    code.copied_bytes = static_cast<uint32_t>(whole.size());
    std::vector<uint8_t> record(sizeof(code) + whole.size());
    std::memcpy(record.data(), &code, sizeof(code));
    std::copy(whole.begin(), whole.end(), record.data() + sizeof(code));
    python_.add(record, image);
  } else if (type == ENTRY_PYTHON_STACK && take(stack) && stack.frames <= PYTHON_FRAMES &&
             bytes.size() >= 8 * size_t{stack.frames}) {
    python_stack_record record{};
    record.kind = PYTHON_STACK;
    record.id = static_cast<uint32_t>(stack.id);
    record.tgid = image;
    record.frames = stack.frames;
    std::memcpy(record.frame, bytes.data(), 8 * size_t{stack.frames});
    python_.add({reinterpret_cast<const uint8_t*>(&record), sizeof(record)}, image);
  } else {
    damaged_ += 1;
  }
}

void PreloadRecorder::readChunk(preload_chunk& chunk, Batch& batch) {
  // before `written`: then no more records follow
  bool is_full = loaded(chunk.state) == CHUNK_FULL;
  uint32_t written = std::min<uint32_t>(loaded(chunk.written), sizeof(chunk.bytes));
  uint32_t at = std::min<uint32_t>(chunk.read, written);
  uint32_t image = chunk.image;
  std::array<uint8_t, sizeof(chunk.bytes)> bytes;  // a copy: the program may change what it wrote
  std::memcpy(bytes.data() + at, chunk.bytes + at, written - at);
  while (at < written) {
    preload_entry entry{};
    if (written - at < sizeof(entry)) break;
    std::memcpy(&entry, bytes.data() + at, sizeof(entry));
    at += sizeof(entry);
    if (entry.bytes > written - at) break;
    if (programs_.size() < kMaxPrograms || programs_.contains(image))
      readEntry(entry.type, bytes.data() + at, entry.bytes, image, batch);
    at += (entry.bytes + 7) & ~7U;
  }
  if (at != written) damaged_ += 1;
  chunk.read = written;
  if (is_full) freeChunk(chunk);
}

void PreloadRecorder::reportStack(const Program& program, uint32_t image, int32_t id) {
  auto stacks = stacks_.find(image);
  if (stacks == stacks_.end()) return;
  auto stack = stacks->second.extract(id);
  if (!stack) return;
  waiting_stacks_ -= 1;
  auto number = static_cast<uint32_t>(id);
  sink_.stackSeen(program.index, number, python_.take(number, std::move(stack.mapped()), image));
}

// Only a program that made calls misses its frames.
void PreloadRecorder::sayPythonProblem(Program& program) {
  if (!program.python) return;
  if (std::string why = program.python->program->problem; !why.empty()) {
    sink_.pythonMissing(program.python->problem(why));
  } else if (loaded(area_->head.python_refused) == 0) {
    return;
  } else {
    sink_.pythonMissing(
        "Python: its frames are not where this version has them, or its memory "
        "cannot be read");
  }
  program.python.reset();
}

size_t PreloadRecorder::poll(int timeout_ms) {
  // Everything that these wrote can be read now. Programs found to be gone below may write until
  // then.
  std::vector<uint32_t> gone = std::exchange(gone_, {});
  std::array<epoll_event, 64> events{};
  int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), timeout_ms);
  for (int i = 0; i < count; ++i) {
    auto image = static_cast<uint32_t>(events[static_cast<size_t>(i)].data.u32);
    auto found = programs_.find(image);
    if (found == programs_.end()) continue;
    epoll_ctl(epoll_, EPOLL_CTL_DEL, found->second.pidfd, nullptr);
    gone.push_back(image);
  }
  // Records from here on may be read before earlier ones of other programs: they wait for the next
  // time.
  uint64_t until_ns = monotonicNow();
  Batch batch = std::move(*waiting_);
  *waiting_ = {};
  uint32_t chunks = std::min(loaded(area_->head.most_chunks), area_.chunks());
  for (uint32_t i = 0; i < chunks; ++i)
    if (preload_chunk& chunk = area_->chunks[i]; loaded(chunk.state) != CHUNK_FREE)
      readChunk(chunk, batch);
  __atomic_fetch_add(&area_->head.rounds, 1, __ATOMIC_RELEASE);
  std::stable_sort(batch.rows.begin(), batch.rows.end(),
                   [](const Batch::Row& a, const Batch::Row& b) { return a.time_ns < b.time_ns; });
  size_t calls = 0;
  for (const Batch::Row& row : batch.rows) {
    if (row.time_ns > until_ns + kAhead_ns) {
      damaged_ += 1;
    } else if (row.time_ns > until_ns) {
      if (row.kind == 0)
        waiting_->add(waiting_->system, 0, row.time_ns, row.image, batch.system[row.place]);
      else if (row.kind == 1)
        waiting_->add(waiting_->memory, 1, row.time_ns, row.image, batch.memory[row.place]);
      else
        waiting_->add(waiting_->launches, 2, row.time_ns, row.image, batch.launches[row.place]);
    } else if (row.kind == 0) {
      const system_record& record = batch.system[row.place];
      if (record.event == SYSTEM_FORK) takeNames(batch);  // it has those of its parent
      (void)program(row.image, record.tgid, &record);
    } else if (row.kind == 1) {
      const memory_record& record = batch.memory[row.place];
      Program& from = program(row.image, record.tgid, nullptr);
      sayPythonProblem(from);
      reportStack(from, row.image, record.stack);
      model::MemoryCall call = decoded(record, true);
      call.start_ns = toEpoch(record.start_ns);
      call.end_ns = toEpoch(record.end_ns);
      call.process = from.index;
      sink_.call(call);
      calls += 1;
    } else {
      const launch_record& record = batch.launches[row.place];
      Program& from = program(row.image, record.tgid, nullptr);
      takeNames(batch);  // the kernel's name was written before it
      reportStack(from, row.image, record.stack);
      Launch launch = decoded(record);
      launch.what.process = from.index;
      launch.time_ns = toEpoch(record.time_ns);
      sink_.launched(launch);
    }
  }
  takeNames(batch);
  endThese(gone);
  findStrangers();
  return calls;
}

// Each becomes a process of the recording, so that the file and the report name it.
void PreloadRecorder::findStrangers() {
  uint64_t now_ns = monotonicNow();
  if (child_ == nullptr || now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns + kBetweenLooks_ns;
  std::erase_if(stranger_index_, [&](const auto& entry) {
    if (isRunning(entry.first)) return false;
    sink_.processEnded(entry.second, toEpoch(now_ns), kUnknownStatus);
    return true;
  });
  auto root = child_->ended() ? 0 : static_cast<uint32_t>(child_->pid());
  for (const Stranger& it : strangers_.look(root)) {
    if (auto before = image_of_.find(it.pid); before != image_of_.end()) {
      // It has the library, and may not be looked at any more.
      if (!it.is_readable) continue;
      // By exec, from a program that has the library: what that wrote is read first.
      became_stranger_.insert(before->second);
      gone_.push_back(before->second);
    }
    if (auto before = stranger_index_.extract(it.pid))
      sink_.processEnded(before.mapped(), toEpoch(now_ns), std::nullopt);
    SeenProcess process;
    process.index = stranger_index_[it.pid] = next_index_++;
    process.pid = it.pid;
    process.parent = it.parent;
    process.name = nameOf(it.pid);
    process.command = commandOf(it.pid);
    process.first_ns = toEpoch(now_ns);
    sink_.processSeen(process);
    model::Unwatched what;
    what.pid = it.pid;
    what.figures = model::FigureSet::all();
    what.reason = it.is_readable ? kWithoutLibrary : kUnreadable;
    sink_.unwatched(what, process.first_ns);
  }
}

// Not before the program is known: it may be another program of a process that has not ended yet.
void PreloadRecorder::takeNames(Batch& batch) {
  for (Batch::Name& it : batch.names) {
    auto from = programs_.find(it.image);
    if (from == programs_.end()) {
      if (waiting_->names.size() < kMaxNames)
        waiting_->names.push_back(std::move(it));
      else
        damaged_ += 1;
      continue;
    }
    it.name.process = from->second.index;
    sink_.kernelNamed(it.name);
  }
  batch.names.clear();
}

void PreloadRecorder::endThese(const std::vector<uint32_t>& gone) {
  uint64_t time_ns = monotonicNow();
  for (uint32_t image : gone) {
    auto found = programs_.find(image);
    if (found == programs_.end()) continue;
    int status = kUnknownStatus;
    if (child_ != nullptr && found->second.tgid == static_cast<uint32_t>(child_->pid()))
      status = child_->ended().value_or(kUnknownStatus);
    if (became_stranger_.erase(image) > 0)
      end(image, time_ns, std::nullopt);
    else
      end(image, time_ns, status);
  }
}

// Nothing was loaded into any program: the command is a stranger that ended before a look.
void PreloadRecorder::nameCommand() {
  if (child_ == nullptr || next_index_ > 0) return;
  SeenProcess process;
  process.index = next_index_++;
  process.pid = static_cast<uint32_t>(child_->pid());
  process.name = command_.substr(command_.rfind('/') + 1);
  process.command = command_;
  process.first_ns = began_ns_;
  sink_.processSeen(process);
  sink_.unwatched({{}, {}, process.pid, {}, {}, model::FigureSet::all(), kWithoutLibrary},
                  process.first_ns);
  if (child_->ended()) sink_.processEnded(process.index, evenClock().now_ns(), *child_->ended());
}

void PreloadRecorder::finish() {
  poll(0);  // everything until now: running programs may write as fast as this reads
  poll(0);
  poll(0);  // and the programs found to be gone meanwhile
  nameCommand();
  stored(area_->head.is_closed, 1U);
}

void PreloadRecorder::tellCounts() { takeCounts(0); }

// Takes the counts of one program, which frees its rows, or of all (0). Counts that a program adds
// meanwhile stay.
void PreloadRecorder::takeCounts(uint32_t image) {
  std::vector<LaunchCount> launches;
  for (preload_launch& row : area_->launches) {
    if (loaded(row.state) != ROW_READY) continue;
    auto from = programs_.find(row.key.program);
    if (from == programs_.end() || (image != 0 && from->first != image)) continue;
    LaunchCount count = decoded(row.key);
    count.process = from->second.index;
    count.launches = __atomic_exchange_n(&row.calls, uint64_t{0}, __ATOMIC_RELAXED);
    if (count.launches > 0 && count.function < watchedFunctions().size()) launches.push_back(count);
    if (image != 0) stored(row.state, static_cast<uint32_t>(ROW_LEFT));
  }
  std::vector<CopyCount> copies;
  for (preload_copy& row : area_->copies) {
    if (loaded(row.state) != ROW_READY) continue;
    auto from = programs_.find(row.key.program);
    if (from == programs_.end() || (image != 0 && from->first != image)) continue;
    CopyCount count = decoded(row.key);
    count.process = from->second.index;
    copy_sum taken{};
    for (auto part : {&copy_sum::calls, &copy_sum::bytes, &copy_sum::time_ns, &copy_sum::failures})
      taken.*part = __atomic_exchange_n(&(row.sum.*part), uint64_t{0}, __ATOMIC_RELAXED);
    add(count, taken);
    if (count.function < watchedFunctions().size() && count.direction < COPY_DIRECTIONS &&
        count.calls + count.failures > 0)
      copies.push_back(count);
    if (image != 0) stored(row.state, static_cast<uint32_t>(ROW_LEFT));
  }
  sink_.launchesSeen(launches);
  sink_.copiesSeen(copies);
}

Losses PreloadRecorder::losses() const {
  Losses losses{};
  for (size_t i = 0; i < losses.size(); ++i) losses[i] = loaded(area_->head.losses[i]);
  losses[LOSS_READ_FAULT] += damaged_;
  return losses;
}

bool PreloadRecorder::anyTargetRuns() const { return !programs_.empty(); }

}  // namespace tidegauge::record
