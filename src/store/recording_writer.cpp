#include "store/recording_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

#include "base/utf8.h"
#include "model/recording_format.h"
#include "store/recording_file.h"

namespace tidegauge::store {
namespace {

int64_t wallClock_ns() {
  auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch).count();
}

constexpr size_t kMaxTextBytes = size_t{1} << 16;

// Names come from other processes: invalid UTF-8 would make the whole column unreadable for other
// tools, and so would a NUL.
std::string cleanText(std::string_view text) {
  std::string clean = base::repairedUtf8(text.substr(0, kMaxTextBytes));
  std::replace(clean.begin(), clean.end(), '\0', '?');
  return clean;
}

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

}  // namespace

class RecordingWriter::Impl {
 public:
  Impl(sqlite3* db, std::string path, int lock) : db_(db), path_(std::move(path)), lock_(lock) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (!failure_ && open_) (void)commit();
    close();
  }

  base::Status prepare();
  base::Status execute(const char* sql);
  base::Status commit();
  base::Status finish(std::optional<int64_t> ended_ns);
  base::Result<bool> finishAlone(int64_t ended_ns);
  void letReadersWait(bool on) const { lockByte(lock_, model::kEndingLockByte, on); }
  uint64_t bytesBeside(const char* suffix) const {
    struct stat file {};
    return ::stat((path_ + suffix).c_str(), &file) == 0 ? static_cast<uint64_t>(file.st_size) : 0;
  }
  std::optional<uint64_t> freeBytes() const {
    struct statvfs disk {};
    if (::fstatvfs(lock_, &disk) != 0 || disk.f_blocks == 0) return std::nullopt;
    return uint64_t{disk.f_bavail} * disk.f_frsize;
  }
  void fold() {
    if (!failure_ && !open_)
      sqlite3_exec(db_, "PRAGMA wal_checkpoint(TRUNCATE)", nullptr, nullptr, nullptr);
  }

  // Inserts one row: values are bound in order.
  template <class... Values>
  base::Status insert(Statement& statement, const char* sql, const Values&... values) {
    if (failure_) return *failure_;
    if (!open_) TG_RETURN_IF_ERROR(begin());
    if (!statement) TG_RETURN_IF_ERROR(prepare(statement, sql));
    int index = 0;
    (bind(statement.get(), ++index, values), ...);
    int rc = sqlite3_step(statement.get());
    sqlite3_reset(statement.get());
    if (rc != SQLITE_DONE) return fail();
    ++rows_;
    return base::okStatus();
  }

  struct {
    Statement meta, process, process_end, function, module, frame, frame_name, stack, stack_frame,
        kernel, kernel_name, kernel_parameters, call, launches, launch_event, copies, loss,
        unwatched, device, device_memory, device_name, device_activity, device_program;
  } statements;
  struct {
    uint32_t processes = 0, functions = 0, modules = 0, frames = 0, stacks = 0, kernels = 0;
  } next;
  uint64_t rows() const { return rows_; }

 private:
  using Null = std::nullopt_t;
  static void bind(sqlite3_stmt* statement, int index, int64_t value) {
    sqlite3_bind_int64(statement, index, value);
  }
  static void bind(sqlite3_stmt* statement, int index, uint64_t value) {
    sqlite3_bind_int64(statement, index, static_cast<int64_t>(value));
  }
  static void bind(sqlite3_stmt* statement, int index, uint32_t value) {
    sqlite3_bind_int64(statement, index, value);
  }
  static void bind(sqlite3_stmt* statement, int index, int32_t value) {
    sqlite3_bind_int64(statement, index, value);
  }
  static void bind(sqlite3_stmt* statement, int index, Null) {
    sqlite3_bind_null(statement, index);
  }
  template <class T>
  static void bind(sqlite3_stmt* statement, int index, const std::optional<T>& value) {
    if (value) {
      bind(statement, index, *value);
    } else {
      sqlite3_bind_null(statement, index);
    }
  }
  static void bind(sqlite3_stmt* statement, int index, std::string_view value) {
    std::string text = cleanText(value);
    sqlite3_bind_text(statement, index, text.data(), static_cast<int>(text.size()),
                      SQLITE_TRANSIENT);
  }
  static void bind(sqlite3_stmt* statement, int index, std::span<const uint8_t> bytes) {
    if (bytes.empty()) {
      sqlite3_bind_null(statement, index);
    } else {
      sqlite3_bind_blob(statement, index, bytes.data(), static_cast<int>(bytes.size()),
                        SQLITE_TRANSIENT);
    }
  }

  base::Status begin() {
    TG_RETURN_IF_ERROR(execute("BEGIN"));
    open_ = true;
    return base::okStatus();
  }
  base::Status prepare(Statement& statement, const char* sql) {
    sqlite3_stmt* made = nullptr;
    if (sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr) != SQLITE_OK) {
      return fail();
    }
    statement.reset(made);
    return base::okStatus();
  }
  base::Error fail();
  base::Status stillThere();
  base::Status stillWhole();
  void endAway(bool is_name_taken);
  void close() {
    statements = {};
    sqlite3_close(db_);
    db_ = nullptr;
    // Closing any descriptor of the file drops SQLite's locks on it, so it is closed last.
    if (lock_ >= 0) ::close(lock_);
    lock_ = -1;
  }

  sqlite3* db_;
  std::string path_;
  int lock_;           // the same file: its locks show that it is being written
  bool open_ = false;  // a transaction is open
  uint64_t rows_ = 0;
  int64_t bytes_ = 0;  // the most that the file had
  std::optional<base::Error> failure_;
};

// Keeps the first failure. If the disk is full, SQLite has rolled back the open transaction;
// earlier commits are intact.
base::Error RecordingWriter::Impl::fail() {
  int code = sqlite3_errcode(db_) & 0xff;
  std::string hint = code == SQLITE_FULL ? "Make room, or record to another disk with -o."
                     : code == SQLITE_READONLY || code == SQLITE_IOERR
                         ? "Is the disk still there and writable?"
                         : "";
  failure_ =
      base::Error{base::ErrorKind::kUnreadable,
                  fmt::format("{}: cannot write: {}; what was written before is intact", path_,
                              code == SQLITE_FULL ? "the disk is full" : sqlite3_errmsg(db_)),
                  std::nullopt, hint};
  if (open_ && sqlite3_get_autocommit(db_) == 0) {
    sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  open_ = false;
  return *failure_;
}

base::Status RecordingWriter::Impl::execute(const char* sql) {
  if (failure_) return *failure_;
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return fail();
  return base::okStatus();
}

// Uses the write-ahead log from the first row on: fold() never waits.
base::Status RecordingWriter::Impl::prepare() {
  TG_RETURN_IF_ERROR(execute("PRAGMA journal_mode = WAL"));
  TG_RETURN_IF_ERROR(execute("PRAGMA synchronous = NORMAL"));
  TG_RETURN_IF_ERROR(execute("PRAGMA cache_size = -16384"));
  TG_RETURN_IF_ERROR(execute("PRAGMA journal_size_limit = 67108864"));
  return execute("PRAGMA wal_autocheckpoint = 1000");
}

base::Status RecordingWriter::Impl::commit() {
  if (failure_) return *failure_;
  if (!open_) return base::okStatus();
  TG_RETURN_IF_ERROR(stillWhole());  // before SQLite may make it longer again
  TG_RETURN_IF_ERROR(execute("COMMIT"));
  open_ = false;
  rows_ = 0;
  TG_RETURN_IF_ERROR(stillWhole());
  return stillThere();
}

// The file was moved: most of its rows are in a journal, which still has the old name. They go into
// the file, wherever that is, and the rest that nobody can use is removed.
void RecordingWriter::Impl::endAway(bool is_name_taken) {
  std::string end =
      fmt::format("INSERT OR REPLACE INTO meta VALUES ('ended_ns', '{}')", wallClock_ns());
  sqlite3_exec(db_, end.c_str(), nullptr, nullptr, nullptr);
  sqlite3_exec(db_, "PRAGMA wal_checkpoint(TRUNCATE)", nullptr, nullptr, nullptr);
  if (is_name_taken) return;  // these may be another recording's
  ::unlink((path_ + "-wal").c_str());
  ::unlink((path_ + "-shm").c_str());
}

// SQLite makes it longer only: a shorter one was cut by another program ("> run.sqlite").
base::Status RecordingWriter::Impl::stillWhole() {
  struct stat mine {};
  if (::fstat(lock_, &mine) != 0) return base::okStatus();
  bool is_whole = mine.st_size >= bytes_;
  bytes_ = std::max<int64_t>(bytes_, mine.st_size);
  if (is_whole) return base::okStatus();
  failure_ = base::Error{base::ErrorKind::kUnreadable,
                         path_ + ": another program cut the file while it was recorded",
                         std::nullopt, "The recorded data is lost."};
  return *failure_;
}

// A removed file accepts rows while it is open, but nobody would ever see them.
base::Status RecordingWriter::Impl::stillThere() {
  struct stat mine {
  }, named{};
  if (::fstat(lock_, &mine) != 0) return base::okStatus();
  bool is_there = ::stat(path_.c_str(), &named) == 0;
  if (is_there && mine.st_dev == named.st_dev && mine.st_ino == named.st_ino)
    return base::okStatus();
  endAway(is_there);
  failure_ = base::Error{base::ErrorKind::kUnreadable,
                         fmt::format("{}: the file was {} while it was recorded", path_,
                                     is_there ? "replaced by another one" : "moved or removed"),
                         std::nullopt,
                         mine.st_nlink == 0 ? "The recorded data is lost with it."
                                            : "Earlier data is in the file under its new name."};
  return *failure_;
}

base::Status RecordingWriter::Impl::finish(std::optional<int64_t> ended_ns) {
  TG_RETURN_IF_ERROR(insert(statements.meta, "INSERT OR REPLACE INTO meta VALUES (?, ?)",
                            std::string_view("ended_ns"),
                            std::string_view(std::to_string(ended_ns.value_or(wallClock_ns())))));
  TG_RETURN_IF_ERROR(commit());
  // While there are readers, the journal stays beside the file, which works as well.
  sqlite3_exec(db_, "PRAGMA wal_checkpoint(TRUNCATE)", nullptr, nullptr, nullptr);
  statements = {};
  sqlite3_exec(db_, "PRAGMA journal_mode = DELETE", nullptr, nullptr, nullptr);
  close();
  failure_ = base::Error{base::ErrorKind::kUsage, path_ + ": the recording has ended", {}, ""};
  return base::okStatus();
}

// Once no other process has the file open in WAL mode, this one has it exclusively until it closes
// it. So the end is never written while the recording may continue.
base::Result<bool> RecordingWriter::Impl::finishAlone(int64_t ended_ns) {
  TG_RETURN_IF_ERROR(commit());
  bool is_alone = false;
  auto took = [](void* answer, int, char** values, char**) {
    *static_cast<bool*>(answer) = values[0] != nullptr && std::string_view(values[0]) == "delete";
    return 0;
  };
  sqlite3_exec(db_, "PRAGMA locking_mode = EXCLUSIVE", nullptr, nullptr, nullptr);
  statements = {};
  sqlite3_exec(db_, "PRAGMA journal_mode = DELETE", took, &is_alone, nullptr);
  if (!is_alone) {
    sqlite3_exec(db_, "PRAGMA locking_mode = NORMAL", nullptr, nullptr, nullptr);
    // Takes effect at the next access to the file.
    sqlite3_exec(db_, "SELECT count(*) FROM meta", nullptr, nullptr, nullptr);
    return false;
  }
  TG_RETURN_IF_ERROR(insert(statements.meta, "INSERT OR REPLACE INTO meta VALUES (?, ?)",
                            std::string_view("ended_ns"),
                            std::string_view(std::to_string(ended_ns))));
  TG_RETURN_IF_ERROR(commit());
  close();
  failure_ = base::Error{base::ErrorKind::kUsage, path_ + ": the recording has ended", {}, ""};
  return true;
}

base::Result<RecordingWriter> RecordingWriter::create(const std::string& path,
                                                      const WriterOptions& options) {
  TG_ASSIGN_OR_RETURN(int file, beginRecordingFile(path, options));
  // A name that starts with "file:" or ":" is a plain path as well.
  std::string plain = path.starts_with('/') ? path : "./" + path;
  sqlite3* db = nullptr;
  int rc =
      sqlite3_open_v2(plain.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  auto impl = std::make_unique<Impl>(db, path, file);
  base::Status prepared = rc == SQLITE_OK
                              ? impl->prepare()
                              : base::Error{base::ErrorKind::kUnreadable,
                                            fmt::format("{}: {}", path, sqlite3_errstr(rc)),
                                            {},
                                            ""};
  if (!options.readers_wait) impl->letReadersWait(false);
  if (!prepared.ok()) {
    removeRecording(path);
    return std::move(prepared.error());
  }
  return RecordingWriter(std::move(impl));
}

RecordingWriter::RecordingWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RecordingWriter::RecordingWriter(RecordingWriter&&) noexcept = default;
RecordingWriter& RecordingWriter::operator=(RecordingWriter&&) noexcept = default;
RecordingWriter::~RecordingWriter() = default;

base::Status RecordingWriter::setMeta(std::string_view key, std::string_view value) {
  return impl_->insert(impl_->statements.meta, "INSERT OR REPLACE INTO meta VALUES (?, ?)", key,
                       value);
}

base::Result<uint32_t> RecordingWriter::addProcess(const ProcessRow& row) {
  std::optional<std::string_view> command;
  if (!row.command.empty()) command = row.command;
  std::optional<uint64_t> cgroup;
  if (row.cgroup != 0) cgroup = row.cgroup;
  uint32_t id = row.id.value_or(impl_->next.processes);
  TG_RETURN_IF_ERROR(impl_->insert(
      impl_->statements.process,
      "INSERT INTO processes(process_id, pid, parent_pid, name, command, cgroup, began_ns) "
      "VALUES (?, ?, ?, ?, ?, ?, ?)",
      id, row.pid, row.parent_pid, row.name, command, cgroup, row.began_ns));
  impl_->next.processes = std::max(impl_->next.processes, id + 1);
  return id;
}

base::Status RecordingWriter::endProcess(uint32_t process, int64_t time_ns,
                                         std::optional<int32_t> exit_status, EndReason reason) {
  return impl_->insert(
      impl_->statements.process_end,
      "UPDATE processes SET ended_ns = ?, exit_status = ?, end_reason = ? WHERE process_id = ?",
      time_ns, exit_status, std::string_view(reason == EndReason::kExit ? "exit" : "exec"),
      process);
}

base::Result<uint16_t> RecordingWriter::addFunction(const FunctionRow& row) {
  std::optional<std::string_view> verb, kind;
  if (row.verb) verb = model::name(*row.verb);
  if (row.kind) kind = model::name(*row.kind);
  TG_RETURN_IF_ERROR(
      impl_->insert(impl_->statements.function, "INSERT INTO functions VALUES (?, ?, ?, ?, ?)",
                    impl_->next.functions, row.name, model::name(row.plane), verb, kind));
  return static_cast<uint16_t>(impl_->next.functions++);
}

base::Result<uint32_t> RecordingWriter::addModule(std::string_view path,
                                                  std::string_view build_id) {
  std::optional<std::string_view> id;
  if (!build_id.empty()) id = build_id;
  TG_RETURN_IF_ERROR(impl_->insert(impl_->statements.module, "INSERT INTO modules VALUES (?, ?, ?)",
                                   impl_->next.modules, path, id));
  return impl_->next.modules++;
}

base::Result<uint32_t> RecordingWriter::addFrame(std::optional<uint32_t> module, uint64_t offset) {
  TG_RETURN_IF_ERROR(
      impl_->insert(impl_->statements.frame,
                    "INSERT INTO frames(frame_id, module_id, \"offset\") VALUES (?, ?, ?)",
                    impl_->next.frames, module, offset));
  return impl_->next.frames++;
}

base::Status RecordingWriter::nameFrame(uint32_t frame, std::string_view function,
                                        std::string_view file, uint32_t line) {
  std::optional<std::string_view> source;
  std::optional<uint32_t> at;
  if (!file.empty()) source = file;
  if (line != 0) at = line;
  return impl_->insert(impl_->statements.frame_name,
                       "UPDATE frames SET function = ?, file = ?, line = ? WHERE frame_id = ?",
                       function, source, at, frame);
}

base::Result<uint32_t> RecordingWriter::addStack(std::span<const uint32_t> frames) {
  TG_RETURN_IF_ERROR(impl_->insert(impl_->statements.stack, "INSERT INTO stacks VALUES (?, ?)",
                                   impl_->next.stacks, static_cast<uint64_t>(frames.size())));
  uint32_t place = 0;
  for (uint32_t frame : frames) {
    TG_RETURN_IF_ERROR(impl_->insert(impl_->statements.stack_frame,
                                     "INSERT INTO stack_frames VALUES (?, ?, ?)",
                                     impl_->next.stacks, place++, frame));
  }
  return impl_->next.stacks++;
}

base::Result<uint32_t> RecordingWriter::addKernel(uint32_t process, uint64_t handle,
                                                  std::string_view name,
                                                  std::optional<std::string_view> parameters) {
  std::optional<std::string_view> known;
  if (!name.empty()) known = name;
  TG_RETURN_IF_ERROR(impl_->insert(impl_->statements.kernel,
                                   "INSERT INTO kernels VALUES (?, ?, ?, ?, ?)",
                                   impl_->next.kernels, process, handle, known, parameters));
  return impl_->next.kernels++;
}

base::Status RecordingWriter::nameKernel(uint32_t kernel, std::string_view name) {
  return impl_->insert(impl_->statements.kernel_name,
                       "UPDATE kernels SET name = ? WHERE kernel_id = ?", name, kernel);
}

base::Status RecordingWriter::setKernelParameters(uint32_t kernel, std::string_view parameters) {
  return impl_->insert(impl_->statements.kernel_parameters,
                       "UPDATE kernels SET parameters = ? WHERE kernel_id = ?", parameters, kernel);
}

base::Status RecordingWriter::addCall(const model::MemoryCall& call) {
  std::optional<int32_t> device;
  std::optional<uint32_t> stack;
  if (call.device >= 0) device = call.device;
  if (call.stack != model::kNoStackOfCall) stack = call.stack;
  return impl_->insert(
      impl_->statements.call,
      "INSERT INTO calls VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", call.start_ns,
      call.end_ns, call.process, call.thread, static_cast<uint32_t>(call.function), call.address,
      call.size_bytes, call.handle, call.stream, call.offset, device, call.code, stack,
      static_cast<uint32_t>(call.inner), static_cast<uint32_t>(call.in_runtime));
}

base::Status RecordingWriter::addLaunches(const LaunchRow& row) {
  return impl_->insert(impl_->statements.launches,
                       "INSERT INTO launches VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                       row.begin_ns, row.end_ns, row.process, row.kernel,
                       static_cast<uint32_t>(row.function), row.grid[0], row.grid[1], row.grid[2],
                       row.block[0], row.block[1], row.block[2], row.count);
}

base::Status RecordingWriter::addLaunchEvent(const LaunchEventRow& row) {
  const LaunchRow& launch = row.launch;
  std::optional<int32_t> device;
  std::optional<uint32_t> stack;
  if (row.device >= 0) device = row.device;
  if (row.stack != model::kNoStackOfCall) stack = row.stack;
  return impl_->insert(
      impl_->statements.launch_event,
      "INSERT INTO launch_events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      launch.begin_ns, launch.process, row.thread, launch.kernel,
      static_cast<uint32_t>(launch.function), launch.grid[0], launch.grid[1], launch.grid[2],
      launch.block[0], launch.block[1], launch.block[2], row.shared_bytes, row.stream, device,
      stack, row.arguments, row.parameters);
}

base::Status RecordingWriter::addCopies(const CopyRow& row) {
  return impl_->insert(
      impl_->statements.copies, "INSERT INTO copies VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      row.begin_ns, row.end_ns, row.process, row.direction, static_cast<uint32_t>(row.function),
      static_cast<uint32_t>(row.submitted), row.count, row.size_bytes, row.host_ns, row.failures);
}

base::Status RecordingWriter::addLoss(int64_t time_ns, std::string_view reason, uint64_t count) {
  return impl_->insert(impl_->statements.loss, "INSERT INTO losses VALUES (?, ?, ?)", time_ns,
                       reason, count);
}

base::Status RecordingWriter::addUnwatched(const model::Unwatched& row,
                                           std::optional<uint32_t> process) {
  std::optional<uint32_t> pid;
  std::optional<std::string_view> library, function;
  if (row.pid != 0) pid = row.pid;
  if (!row.library.empty()) library = row.library;
  if (!row.function.empty()) function = row.function;
  return impl_->insert(impl_->statements.unwatched,
                       "INSERT INTO unwatched VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row.begin_ns,
                       row.end_ns, process, pid, library, function,
                       std::string_view(listOf(row.figures)), std::string_view(row.reason));
}

base::Status RecordingWriter::addDevice(const DeviceRow& row) {
  std::optional<uint64_t> total;
  std::optional<uint32_t> generation, lanes;
  if (row.total_bytes != 0) total = row.total_bytes;
  if (row.pcie_generation != 0) generation = row.pcie_generation;
  if (row.pcie_lanes != 0) lanes = row.pcie_lanes;
  return impl_->insert(impl_->statements.device,
                       "INSERT OR REPLACE INTO devices VALUES (?, ?, ?, ?, ?, ?)", row.device,
                       row.name, row.uuid, total, generation, lanes);
}

base::Status RecordingWriter::addDeviceName(uint32_t id, std::string_view name) {
  return impl_->insert(impl_->statements.device_name, "INSERT INTO device_names VALUES (?, ?)", id,
                       name);
}

base::Status RecordingWriter::addDeviceActivity(const DeviceActivityRow& row) {
  return impl_->insert(impl_->statements.device_activity,
                       "INSERT INTO device_activities VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                       row.start_ns, row.end_ns, row.process, row.kind, row.direction, row.device,
                       row.context, row.stream, row.size_bytes, row.correlation, row.name);
}

base::Status RecordingWriter::addDeviceProgram(const DeviceProgramRow& row) {
  std::optional<std::string_view> reason, library;
  std::optional<uint32_t> version;
  if (!row.reason.empty()) reason = row.reason;
  if (!row.library.empty()) library = row.library;
  if (row.version != 0) version = row.version;
  return impl_->insert(impl_->statements.device_program,
                       "INSERT INTO device_programs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row.time_ns,
                       row.process, row.pid, row.outcome, reason, library, version,
                       row.clock_error_ns);
}

base::Status RecordingWriter::addDeviceMemory(const DeviceMemoryRow& row) {
  return impl_->insert(impl_->statements.device_memory,
                       "INSERT INTO device_memory VALUES (?, ?, ?, ?)", row.time_ns, row.device,
                       row.pid, row.used_bytes);
}

base::Status RecordingWriter::commit() { return impl_->commit(); }
void RecordingWriter::fold() { impl_->fold(); }
uint64_t RecordingWriter::rowsInTransaction() const { return impl_->rows(); }
uint64_t RecordingWriter::fileBytes() const { return impl_->bytesBeside("") + journalBytes(); }
std::optional<uint64_t> RecordingWriter::freeBytes() const { return impl_->freeBytes(); }
uint64_t RecordingWriter::journalBytes() const { return impl_->bytesBeside("-wal"); }
void RecordingWriter::letReadersWait(bool on) { impl_->letReadersWait(on); }
base::Result<bool> RecordingWriter::finishAlone(int64_t ended_ns) {
  return impl_->finishAlone(ended_ns);
}
base::Status RecordingWriter::finish(std::optional<int64_t> ended_ns) {
  return impl_->finish(ended_ns);
}

}  // namespace tidegauge::store
