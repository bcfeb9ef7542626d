#include "readers/recording/open_recording.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "model/lives/lives.h"
#include "model/recording_format.h"
#include "readers/recording/build_trace.h"
#include "readers/recording/driver_blocks.h"
#include "readers/recording/file/growth.h"
#include "readers/recording/file/held_file.h"
#include "readers/recording/file/sqlite_file.h"

namespace tidegauge::readers::recording {
namespace {

constexpr size_t kHeadBytes = 100;
constexpr size_t kMaxUnwatched = 100;

struct Head {
  std::array<unsigned char, kHeadBytes> bytes{};
  size_t size = 0;  // less if the file is shorter
};

Head headOf(int file) {
  Head head;
  auto read = ::pread(file, head.bytes.data(), head.bytes.size(), 0);
  head.size = read < 0 ? 0 : static_cast<size_t>(read);
  return head;
}

int32_t bigEndian(const Head& head, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | head.bytes[at + i];
  return static_cast<int32_t>(value);
}

// The state that a reader must know before it trusts the end. A killed recorder leaves its journal.
std::string formatOf(const model::RecordedRun& run, bool has_writer, bool is_open) {
  std::string format = "recording of GPU memory calls";
  if (run.ended_ns || !(has_writer || is_open)) return format;
  return format + (has_writer ? ", still being written" : ", without the recorder's end");
}

// Whether it had a writer was checked before the read, on the same file.
struct Opened {
  SqliteFile file;
  bool has_writer = false, is_open = false;
};

// Absent: while it was opened, the next part took the name, or was about to.
base::Result<std::optional<Opened>> openOnce(const std::string& path) {
  bool waits = letPartEnd(path);
  auto held = heldFile(path);
  if (held == nullptr) {
    return base::Error{base::ErrorKind::kUnreadable, std::strerror(errno), std::nullopt, ""};
  }
  Head head = headOf(held->descriptor());
  if (head.size < kHeadBytes) {
    return base::Error{
        base::ErrorKind::kUnreadable,
        fmt::format(
            "the SQLite file is truncated, because it is shorter than its header of {} bytes",
            kHeadBytes),
        head.size, "Copy it again, together with its -wal file if one exists."};
  }
  if (bigEndian(head, 68) != model::kRecordingApplication) {
    return base::Error{base::ErrorKind::kUnreadable,
                       "this SQLite database is not a recording of Tidegauge", 68,
                       "Open a PyTorch memory snapshot, or a file written by `tidegauge record`."};
  }
  int32_t version = bigEndian(head, 60);
  if (version < 1 || version > model::kRecordingVersion) {
    return base::Error{
        base::ErrorKind::kUnreadable,
        fmt::format(
            "this recording has version {} of the format, and this program reads versions up to {}",
            version, model::kRecordingVersion),
        60, "Use a newer tidegauge."};
  }
  bool has_writer = held->hasWriter();
  bool is_open = isOpen(path);
  auto file = SqliteFile::open(path);
  if (!held->isAt(path) || (waits && held->isEnding())) return std::optional<Opened>();
  if (!file.ok()) return std::move(file.error());
  return std::optional<Opened>({std::move(file.value()), has_writer, is_open});
}

base::Result<Opened> openChecked(const std::string& path) {
  constexpr int kMaxOpenTries = 20;
  for (int i = 0; i < kMaxOpenTries; ++i) {
    TG_ASSIGN_OR_RETURN(std::optional<Opened> opened, openOnce(path));
    if (opened) return std::move(*opened);
  }
  return base::Error{base::ErrorKind::kUnreadable, "the file was replaced while it was opened",
                     std::nullopt, "Try again."};
}

// Programs of which nothing was watched made no calls. If no other did, each is a process, so that
// it has a name.
void addUnwatched(RecordedTables& tables) {
  const model::RecordedRun& run = *tables.run;
  if (!tables.processes.empty()) return;
  std::set<int64_t> known;
  for (size_t i = 0; i < run.unwatched.size(); ++i) {
    bool is_whole = !run.unwatched.library[i].valid() && !run.unwatched.function[i].valid() &&
                    run.unwatched.begin_ns[i] == model::kNotRecorded &&
                    run.unwatched.end_ns[i] == model::kNotRecorded;
    int64_t id = run.unwatched.process_id[i];
    auto row = model::rowOf(run.processes, id);
    if (!is_whole || !row || !known.insert(id).second) continue;
    if (known.size() > kMaxUnwatched) return;
    std::string name(run.strings.text(run.processes.name[*row]));
    tables.processes.push_back({id, run.processes.pid[*row], std::move(name), {}, {}});
  }
}

}  // namespace

bool isSqliteFile(const std::string& path) {
  struct stat status {};
  // Never open a pipe: it would lose its first bytes.
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  bool is_sqlite = std::memcmp(headOf(file).bytes.data(), "SQLite format 3", 16) == 0;
  ::close(file);
  return is_sqlite;
}

base::Result<std::vector<model::Trace>> openRecording(const std::string& path,
                                                      const ReadOptions& options) {
  TG_ASSIGN_OR_RETURN(Opened opened, openChecked(path));
  SqliteFile& file = opened.file;
  bool is_abandoned = opened.is_open && !opened.has_writer;
  TG_ASSIGN_OR_RETURN(RecordedTables tables, readTables(file, options.progress, is_abandoned));
  addUnwatched(tables);
  if (tables.processes.empty()) tables.processes.push_back({kNoProcess, 0, "no process", {}, {}});
  std::vector<model::Trace> traces;
  traces.reserve(tables.processes.size());
  for (RecordedProcess& process : tables.processes) {
    BesideTrace beside;
    model::Trace trace = buildTrace(tables, process, process.work, beside, options.driver_memory);
    process.calls = {};
    process.work.run = tables.run;
    process.work.process_id = process.id;
    trace.work = std::make_shared<const model::RecordedWork>(std::move(process.work));
    trace.source.format = formatOf(*tables.run, opened.has_writer, opened.is_open);
    trace.source.file_bytes = trace.source.data_bytes = file.fileBytes();
    model::buildLives(trace, beside.carried);
    joinDriverBlocks(trace, beside.is_driver_block);
    traces.push_back(std::move(trace));
  }
  return traces;
}

}  // namespace tidegauge::readers::recording
