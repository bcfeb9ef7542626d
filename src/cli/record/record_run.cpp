// runRecord in builds with the recorder; see record_missing.cpp.
#include <fmt/format.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/format.h"
#include "base/text_layout.h"
#include "cli/commands.h"
#include "cli/open_trace.h"
#include "cli/options/new_file.h"
#include "cli/options/output.h"
#include "cli/options/usage.h"
#include "cli/record/record_identity.h"
#include "cli/record/record_options.h"
#include "cli/record/record_room.h"
#include "cli/record/record_times.h"
#include "record/kernel/even_clock.h"
#include "record/preload/preload.h"
#include "record/process/capabilities.h"
#include "record/process/cgroup.h"
#include "record/process/helper.h"
#include "record/recorder.h"
#include "record/session/session.h"
#include "report/shell/shell_line.h"

namespace tidegauge::cli {
namespace {

constexpr int kDrainEvery_ms = 5;
// Who sends SIGTERM sends SIGKILL soon: by then the file must be complete.
constexpr int64_t kNamesLimit_ns = 3'000'000'000;

std::string nameWithTime() {
  std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return fmt::format("tidegauge-{:04}{:02}{:02}-{:02}{:02}{:02}.sqlite", local.tm_year + 1900,
                     local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec);
}

// Signals arrive on a descriptor: they end the recording cleanly, or are forwarded to the command.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2})
      sigaddset(&set_, signal);
    sigprocmask(SIG_BLOCK, &set_, &before_.blocked);
    // Ignored, the kernel would keep no exit status of the command.
    before_.ignores_children = signal(SIGCHLD, SIG_DFL) == SIG_IGN;
    descriptor_ = signalfd(-1, &set_, SFD_NONBLOCK | SFD_CLOEXEC);
  }
  ~Signals() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // As the caller had set them.
  const record::CallersSignals& before() const { return before_; }
  // The next signal. The terminal sends its own to the command directly.
  struct Signal {
    int number = 0;
    bool from_keyboard = false;
  };
  std::optional<Signal> take() const {
    signalfd_siginfo info{};
    if (read(descriptor_, &info, sizeof(info)) != sizeof(info)) return std::nullopt;
    return Signal{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
  }

 private:
  sigset_t set_{};
  record::CallersSignals before_;
  int descriptor_ = -1;
};

int exitCodeOf(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Reports that the recording's file could not be written.
int reportWriting(const base::Error& error) {
  int code = reportError(error);
  return error.kind == base::ErrorKind::kUnreadable ? kNotWritten : code;
}

void sayLibraries(const record::Session& session, size_t& said) {
  for (; said < session.libraries().size(); ++said) {
    const record::WatchedLibrary& library = session.libraries()[said];
    for (const std::string& problem : library.problems)
      complain(fmt::format("tidegauge: {}: {}", base::printable(library.path),
                           base::printable(problem)));
  }
}

void sayLosses(const record::Session& session) {
  for (size_t i = 0; i < LOSS_KINDS; ++i)
    if (uint64_t count = session.losses()[i]; count > 0)
      complain(fmt::format("tidegauge: incomplete: {} × {}{}", base::withCommas(count),
                           record::lossReason(i),
                           i == LOSS_MEMORY_RING ? " (--ring makes it larger)" : ""));
}

record::RecorderOptions recorderOptions(const RecordOptions& options) {
  record::RecorderOptions recorder;
  recorder.framework = !options.no_framework;
  recorder.python = !options.no_python;
  recorder.name_glob = options.name_glob;
  recorder.programs.watch_all =
      options.all || !options.name_glob.empty() || !options.cgroup.empty();
  recorder.programs.take_stacks = options.stacks != "none";
  recorder.programs.take_block_stacks = options.stacks != "none";
  recorder.programs.launch_events = options.launch_events;
  recorder.programs.link_each = options.link_each;
  recorder.programs.launch_arguments = options.launch_arguments;
  recorder.programs.whole_arguments = options.whole_arguments;
  recorder.programs.ring_bytes = static_cast<uint32_t>(options.ring_bytes);
  return recorder;
}

void sayPython(const record::Session& session) {
  for (const std::string& why : session.missingPythons())
    complain(
        fmt::format("tidegauge: {}, so call sites show the interpreter, not its functions", why));
}

// The recording ends before its command does.
void sayStopped(const base::Error& error) {
  (void)reportError(error);
  complain("tidegauge: the command continues without a recording.");
}

// The order to end, of a service manager or a person; others are for the command.
bool endsRecordings(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

// Records until a reason to end occurs. Returns the status of the command, if there is one.
base::Result<std::optional<int>> loop(const RecordOptions& options, record::Source& recorder,
                                      record::Session& session, record::Child* child,
                                      const Signals& signals, bool& was_told_to_end) {
  auto now = [] { return record::evenClock().now_ns(); };
  int64_t begin_ns = now(), last_ns = begin_ns;  // the time of the last activity
  auto ns = [](double seconds) { return static_cast<int64_t>(seconds * 1e9); };
  uint64_t counted = 0;
  size_t said = 0;
  bool has_stopped = false;
  while (true) {
    if (recorder.poll(kDrainEvery_ms) > 0) last_ns = now();
    // A command is not left alone: it has its signals and its exit status to the end.
    if (base::Status status = session.tick(recorder); !status.ok()) {
      if (child == nullptr) return std::move(status.error());
      if (!std::exchange(has_stopped, true)) sayStopped(status.error());
    }
    if (std::exchange(counted, session.counted()) != session.counted()) last_ns = now();
    sayLibraries(session, said);
    while (auto signal = signals.take()) {
      was_told_to_end |= endsRecordings(signal->number);
      if (child == nullptr) return std::optional<int>();
      if (!signal->from_keyboard) record::signalCommand(child->pid(), signal->number);
    }
    if (child != nullptr && child->ended()) return child->ended();
    if (child == nullptr && !options.pids.empty() && !recorder.anyTargetRuns())
      return std::optional<int>();
    if (has_stopped) continue;
    if (options.duration_s > 0 && now() - begin_ns >= ns(options.duration_s))
      return std::optional<int>();
    // Launches and copies are known up to the time of their last count.
    if (options.idle_timeout_s > 0 && session.countedNs() - last_ns >= ns(options.idle_timeout_s))
      return std::optional<int>();
  }
}

// The parts of a running recording. If it cannot start: an exit code.
struct Recording {
  RecordIdentity identity;
  RecordTimes times;
  std::optional<record::Helper> helper;  // does what takes a privilege that the recorder gave up
  std::optional<record::Child> child;
  std::optional<record::Session> session;
  std::unique_ptr<record::Source> source;

  // It has not started, and must not.
  void cancelCommand() {
    if (child) child->cancel();
  }
  // Creates the file after the command was found, and removes it if nothing can be recorded.
  int makeSession(const std::string& path, const RecordOptions& options) {
    store::WriterOptions writer_options;
    writer_options.replace = options.force;
    writer_options.recorder = "tidegauge";
    auto refuse = [&](const base::Error& error) {
      cancelCommand();
      return reportWriting(error);
    };
    auto room = roomFor(path, options);
    if (!room.ok()) return refuse(room.error());
    uint64_t max_bytes = room.value().max_bytes;
    if (room.value().is_default) {
      if (std::string other = record::PartRing::notAPart(path); !other.empty()) {
        complain(fmt::format(
            "tidegauge: {} has the name of a part of this recording but is another file, so the "
            "recording has no --max-size",
            base::printable(other)));
        max_bytes = 0;
      }
    }
    std::vector<std::string> older;
    if (max_bytes > 0) {
      auto found = record::PartRing::older(path, options.force);
      if (!found.ok()) return refuse(found.error());
      older = std::move(found.value());
    }
    auto writer = store::RecordingWriter::create(path, writer_options);
    if (!writer.ok()) return refuse(writer.error());
    if (auto removed = record::PartRing::remove(older); !removed.ok()) {
      store::removeRecording(path);
      return refuse(removed.error());
    }
    std::optional<record::PartRing> ring;
    if (max_bytes > 0) ring.emplace(path, max_bytes);
    if (ring && room.value().is_default) ring->limitIsDefault();
    session.emplace(std::move(writer.value()), nullptr, std::move(ring));
    if (options.launch_arguments > 0) session->readParameters(options.whole_arguments);
    session->keepFree(options.keep_free_bytes);
    times.give(*session);
    return 0;
  }
  int startCommand(const RecordOptions& options, std::vector<std::string> environment) {
    identity.child.more = std::move(environment);
    std::string program = record::findProgram(options.command[0]);
    if (program.empty())
      return usageError(fmt::format("“{}” cannot be run: no such program", options.command[0]));
    if (access(program.c_str(), X_OK) != 0)
      return usageError(fmt::format("“{}” cannot be run: {}", options.command[0],
                                    errno == ENOENT ? "no such program" : std::strerror(errno)));
    if (base::Status status = times.prepare(options, identity.child); !status.ok())
      return reportError(status.error());
    auto started = record::Child::start(options.command, identity.child);
    if (!started.ok()) return reportError(started.error());
    child.emplace(std::move(started.value()));
    return 0;
  }

  // What recording takes is kept; the file is created afterwards, so it is the user's own.
  base::Status giveUpPrivileges(const std::string& path, const RecordOptions& options) const {
    record::allowLockedMemory();
    return record::keepCapabilities(record::neededToRecord(options.link_each), identity.caller,
                                    path.substr(0, path.find_last_of('/') + 1));
  }

  int beginInKernel(const std::string& path, const RecordOptions& options) {
    record::RecorderOptions recorder_options = recorderOptions(options);
    if (!options.cgroup.empty()) {
      auto cgroup = record::findCgroup(options.cgroup);
      if (!cgroup.ok()) return reportError(cgroup.error());
      recorder_options.programs.cgroup = cgroup.value().id;
      recorder_options.programs.cgroup_level = cgroup.value().level;
    }
    helper.emplace();
    if (!options.command.empty()) {
      if (int code = startCommand(options, {}); code != 0) return code;
      helper->commandIs(child->pid());
    }
    if (auto given = giveUpPrivileges(path, options); !given.ok()) {
      cancelCommand();
      return reportError(given.error());
    }
    if (int code = makeSession(path, options); code != 0) return code;
    auto recorder = record::Recorder::start(recorder_options, *session);
    if (!recorder.ok()) {
      store::removeRecording(path);
      cancelCommand();
      return reportError(recorder.error());
    }
    record::Recorder& it = *recorder.value();
    source = std::move(recorder.value());
    if (!it.linksMany())
      complain(
          "tidegauge: each function needs its own probe, so starting and stopping take seconds "
          "(Linux 6.6 and newer attach all at once).");
    base::Status status = base::okStatus();
    if (child) {
      status = it.watchCommand(*child, record::findProgram(options.command[0]),
                               record::variableOf(identity.child, "LD_LIBRARY_PATH"));
      if (status.ok())
        status = child->go();
      else
        cancelCommand();
    }
    for (uint32_t pid : options.pids)
      if (status.ok()) status = it.watch(pid);
    if (recorder_options.programs.watch_all && status.ok()) status = it.watchAllRunning();
    if (status.ok()) {
      // Who starts a step of a running program waits for this line.
      if (!child) complain("tidegauge: recording. Ctrl-C ends it.");
      return 0;
    }
    store::removeRecording(path);
    return reportError(status.error());
  }

  int beginInPrograms(const std::string& path, const RecordOptions& options) {
    record::PreloadOptions preload_options;
    preload_options.take_stacks = options.stacks != "none";
    preload_options.launch_events = options.launch_events;
    preload_options.walk_python = !options.no_python;
    preload_options.ring_bytes = options.ring_bytes;
    if (identity.caller) {  // it needs no privilege, and its memory must be the user's
      if (auto given = record::keepCapabilities(0, identity.caller); !given.ok())
        return reportError(given.error());
      identity.child.user.reset();
    }
    auto area = record::PreloadArea::make(preload_options);
    if (!area.ok()) return reportError(area.error());
    if (int code = startCommand(options, area.value().environment()); code != 0) return code;
    if (int code = makeSession(path, options); code != 0) return code;
    auto recorder = std::make_unique<record::PreloadRecorder>(std::move(area.value()), *session);
    recorder->watchCommand(*child, options.command[0]);
    source = std::move(recorder);
    base::Status status = child->go();
    if (status.ok()) return 0;
    store::removeRecording(path);
    return reportError(status.error());
  }
};

// A program of which nothing was recorded: record/preload/strangers.h.
const record::SessionProcess* strangerOf(const record::Session& session) {
  for (const record::SessionProcess& it : session.processes())
    if (!it.seen.from_start) return &it;
  return nullptr;
}

std::string whyNothing(const RecordOptions& options, const Recording& recording) {
  if (!options.preload)
    return "No call of the CUDA driver, the runtime or PyTorch was recorded. The watched programs "
           "made none while the recording ran, or CUDA is linked into them without symbols "
           "(stripped), so that no probe can be placed.";
  const record::SessionProcess* stranger = strangerOf(*recording.session);
  if (recording.session->processes().size() == 0 || stranger != nullptr)
    return fmt::format(
        "The library was not loaded into {}. Programs that are linked statically, that run with "
        "other rights than the user who starts them (setuid), or whose LD_PRELOAD was changed, do "
        "not load it. eBPF (as root, without --preload) needs no library.",
        base::printable(stranger != nullptr
                            ? fmt::format("{} (pid {})", stranger->seen.name, stranger->seen.pid)
                            : options.command[0]));
  return "No call of the CUDA driver or runtime was recorded. The programs made none, or the "
         "runtime and the driver are linked into them, or a program that ended within a second did "
         "not load the library (LD_PRELOAD was changed). PyTorch's own blocks need eBPF (without "
         "--preload).";
}

// "not all calls of train (pid 4711), eval (pid 4712) and 3 more were recorded"; empty: all were.
std::string incompleteWords(const record::Session& session) {
  constexpr size_t kMostNames = 3;
  std::string names;
  size_t count = 0;
  for (const record::SessionProcess& it : session.processes()) {
    if (it.unwatched.empty() || ++count > kMostNames) continue;
    names += fmt::format("{}{} (pid {})", names.empty() ? "" : ", ", base::printable(it.seen.name),
                         it.seen.pid);
  }
  if (count == 0) return {};
  if (count > kMostNames) names += fmt::format(" and {} more", count - kMostNames);
  return fmt::format("not all calls of {} were recorded", names);
}

// "12,345 calls of 2 processes in run.sqlite (3 MiB)", "…, in 5 parts; the last, run.sqlite (3
// MiB), has 300 of them"
std::string whatWasRecorded(const record::Session& session, const std::string& path) {
  std::string text = fmt::format(
      "{} of {}", base::counted(session.calls(), "call"),
      session.pids() == 1 ? "1 process" : base::withCommas(session.pids()) + " processes");
  std::string file =
      fmt::format("{} ({})", base::printable(path), base::humanBytes(session.fileBytes()));
  uint32_t parts = session.ring() == nullptr ? 1 : session.ring()->number();
  if (parts == 1) return fmt::format("{} in {}", text, file);
  return fmt::format("{}, in {} parts; the last part, {}, contains {} of them", text, parts, file,
                     base::withCommas(session.partCalls()));
}

// "run.3.sqlite to run.8.sqlite are kept, too: 14.1 MiB of 16.0 MiB in all. Calls before … were
// dropped."
void sayParts(const record::PartRing& ring, uint64_t newest_bytes) {
  std::vector<std::string> kept = ring.kept();
  if (ring.number() > 1) {
    std::string text =
        kept.empty() ? "no other part remains"
                     : base::printable(kept.front()) +
                           (kept.size() == 1
                                ? " remains, too"
                                : fmt::format(" to {} remain, too", base::printable(kept.back())));
    text += fmt::format(": {} of {} in total.", base::humanBytes(ring.keptBytes() + newest_bytes),
                        base::humanBytes(ring.maxBytes()));
    if (ring.removed() > 0)
      text += fmt::format(" The recorder deleted the calls before {}.",
                          base::utcTime(ring.keptFrom_ns()));
    complain("tidegauge: " + text);
  }
  if (ring.isTooSmall())
    complain(
        "tidegauge: --max-size was exceeded, because the last part alone is larger. Each part "
        "repeats the live memory, and a part that a reader has open is not rotated.");
}

// After --duration or --idle-timeout: a command is not left alone.
int waitForCommand(record::Child& child, const Signals& signals) {
  complain("tidegauge: the recording has ended; record waits for its command.");
  while (!child.ended()) {
    while (auto signal = signals.take())
      if (!signal->from_keyboard) record::signalCommand(child.pid(), signal->number);
    usleep(kDrainEvery_ms * 1000);
  }
  return exitCodeOf(*child.ended());
}

int recordTo(const std::string& path, const RecordOptions& options) {
  if (base::Status caller = record::checkCaller(); !caller.ok() && !options.as_root)
    return reportError(caller.error());
  Signals signals;
  Recording recording;
  recording.identity = identityFor(options);
  recording.identity.child.signals = signals.before();
  int begun = options.preload ? recording.beginInPrograms(path, options)
                              : recording.beginInKernel(path, options);
  if (begun != 0) return begun;
  record::Session& session = *recording.session;
  record::Source& it = *recording.source;
  session.askDevices();
  auto& child = recording.child;
  bool was_told_to_end = false;
  auto ended = loop(options, it, session, child ? &*child : nullptr, signals, was_told_to_end);
  int64_t ended_ns = record::evenClock().now_ns();
  bool had_stopped = !session.status().ok();
  it.finish();
  base::Status written = session.finish(it, [&] {
    while (auto signal = signals.take()) {
      was_told_to_end |= endsRecordings(signal->number);
      if (child && !child->ended() && !signal->from_keyboard)
        record::signalCommand(child->pid(), signal->number);
    }
    return was_told_to_end && record::evenClock().now_ns() - ended_ns > kNamesLimit_ns;
  });
  if (uint64_t unnamed = session.unnamedFrames(); unnamed > 0)
    complain(fmt::format("tidegauge: {} without a name, because a signal ended the recording",
                         base::counted(unnamed, "frame")));
  sayLosses(session);
  RecordTimes::sayEnd(session);
  int exit_code = 0;
  if (child && child->ended()) exit_code = exitCodeOf(*child->ended());
  if (!ended.ok() || !written.ok()) {
    const base::Error& error = ended.ok() ? written.error() : ended.error();
    int code = had_stopped && ended.ok() ? kNotWritten : reportWriting(error);  // said before
    if (child && !child->ended()) exit_code = waitForCommand(*child, signals);
    return exit_code != 0 ? exit_code : code;
  }
  complain(fmt::format("tidegauge: {}. See them with: tidegauge view {}",
                       whatWasRecorded(session, path),
                       report::quotedForShell(base::printable(path))));
  if (const record::PartRing* ring = session.ring()) sayParts(*ring, session.fileBytes());
  if (options.stacks != "none" && session.calls() > 0) sayPython(session);
  std::string words = child ? "" : incompleteWords(session);
  if (!words.empty())
    complain(fmt::format("tidegauge: {}. Reasons: tidegauge report {}", words,
                         report::quotedForShell(base::printable(path))));
  else if (session.calls() == 0)
    complain(whyNothing(options, recording));
  // The command's output may be the input of another program.
  bool is_of_command = child && isatty(STDOUT_FILENO) == 0;
  if (!options.no_summary && session.calls() > 0 && !is_of_command) {
    int code = reportFile(path);
    if (exit_code == 0) exit_code = code;
  }
  if (child && !child->ended())
    if (int code = waitForCommand(*child, signals); code != 0) exit_code = code;
  return exit_code;
}

}  // namespace

int runRecord(const RecordOptions& options) {
  std::string path = options.output.empty() ? nameWithTime() : options.output;
  if (path == "-")
    return usageError("a recording cannot be written to standard output",
                      "Give the name of a file with -o");
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    return usageError(path + " is not a regular file, and a recording is an SQLite file",
                      "Give the name of a new file with -o");
  NewFile file(path, options.force);
  if (int code = file.refuse({}); code != 0) return code;
  if (options.sudo && !record::mayUseBpf()) return recordThroughSudo();
  return recordTo(path, options);
}

}  // namespace tidegauge::cli
