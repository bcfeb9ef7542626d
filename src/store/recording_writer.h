// RecordingWriter: writes a recording, an SQLite file that other tools can read while it grows.
//
//   TG_ASSIGN_OR_RETURN(RecordingWriter writer, RecordingWriter::create("run.tgr", {}));
//   uint32_t process = writer.addProcess({.pid = 41, .name = "python"}).value();
//   writer.addCall(call);      // goes into the open transaction
//   writer.commit();           // every 100 ms: after this, the rows survive kill -9
//   writer.finish();           // one file, nothing beside it
//
// Committed rows stay valid: after a kill, a full disk, a read-only remount. After the first
// failure, every call returns the same error and writes nothing. Ids are assigned in order from 0.
// Not thread-safe. Cost: about 1 µs per call (docs/performance.md). Format:
// docs/formats/recording.md.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/incomplete.h"
#include "model/memory_call.h"
#include "store/recording_file.h"

namespace tidegauge::store {

// A program that ran: exec ends one row and begins another, and so does a reused pid.
struct ProcessRow {
  std::optional<uint32_t> id;  // one that no row has; absent: the next
  uint32_t pid = 0;
  std::optional<uint32_t> parent_pid;
  std::string_view name;
  std::string_view command;  // empty: unknown
  uint64_t cgroup = 0;       // 0: unknown
  int64_t began_ns = 0;
};
enum class EndReason : uint8_t { kExit, kExec };

struct FunctionRow {
  std::string_view name;
  model::Plane plane = model::Plane::kDriver;
  std::optional<model::Verb> verb;  // absent: a copy or a launch
  std::optional<model::MemoryKind> kind;
};

struct LaunchRow {
  // the period in which they were counted; equal times for a single one
  int64_t begin_ns = 0, end_ns = 0;
  uint32_t process = 0;
  uint32_t kernel = 0;
  uint16_t function = 0;
  std::array<uint32_t, 3> grid{}, block{};
  uint64_t count = 0;
};
struct LaunchEventRow {
  LaunchRow launch;  // its begin_ns is the time
  uint32_t thread = 0;
  uint32_t shared_bytes = 0;
  uint64_t stream = 0;
  int32_t device = model::kUnknownDevice;
  uint32_t stack = model::kNoStackOfCall;
  std::span<const uint8_t> arguments;
  // How many of the kernel's parameters `arguments` has, one after the other; absent: they are not
  // known, and it has words.
  std::optional<uint32_t> parameters;
};

struct CopyRow {
  int64_t begin_ns = 0, end_ns = 0;
  uint32_t process = 0;
  std::string_view direction;  // "host to device", …
  uint16_t function = 0;
  bool submitted = false;  // host_ns is not the time of the transfer
  uint64_t count = 0, size_bytes = 0, host_ns = 0, failures = 0;
};

struct DeviceRow {
  int32_t device = 0;
  std::string_view name, uuid;
  uint64_t total_bytes = 0;
  uint32_t pcie_generation = 0, pcie_lanes = 0;  // of its link; 0: unknown
};
struct DeviceMemoryRow {
  int64_t time_ns = 0;
  int32_t device = 0;
  std::optional<uint32_t> pid;  // absent: the whole device
  uint64_t used_bytes = 0;
};

// What a device did, by its own clock (--device-times).
struct DeviceActivityRow {
  int64_t start_ns = 0, end_ns = 0;
  uint32_t process = 0;
  std::string_view kind;                      // "kernel", "copy", "set"
  std::optional<std::string_view> direction;  // of copies and sets, as in CopyRow
  std::optional<uint64_t> size_bytes;         // of copies and sets
  uint32_t device = 0;                        // as the program numbers them
  uint32_t context = 0, stream = 0;           // as CUPTI numbers them
  uint32_t correlation = 0;
  std::optional<uint32_t> name;  // addDeviceName()
};
// What became of --device-times in a program.
struct DeviceProgramRow {
  int64_t time_ns = 0;
  std::optional<uint32_t> process;
  uint32_t pid = 0;
  std::string_view outcome;  // "timed", "no library", "refused", "new version"
  std::string_view reason;   // empty: none
  std::string_view library;  // path of libcupti; empty: unknown
  uint32_t version = 0;      // 0: unknown
  uint64_t clock_error_ns = 0;
};

class RecordingWriter {
 public:
  static base::Result<RecordingWriter> create(const std::string& path,
                                              const WriterOptions& options);
  RecordingWriter(RecordingWriter&&) noexcept;
  RecordingWriter& operator=(RecordingWriter&&) noexcept;
  ~RecordingWriter();  // commits the open transaction, if possible

  base::Status setMeta(std::string_view key, std::string_view value);
  base::Result<uint32_t> addProcess(const ProcessRow& row);
  // No status: it runs another program now, or its status is unknown.
  base::Status endProcess(uint32_t process, int64_t time_ns, std::optional<int32_t> exit_status,
                          EndReason reason);
  base::Result<uint16_t> addFunction(const FunctionRow& row);
  base::Result<uint32_t> addModule(std::string_view path, std::string_view build_id);
  // A place in a module; its name may be added later.
  base::Result<uint32_t> addFrame(std::optional<uint32_t> module, uint64_t offset);
  base::Status nameFrame(uint32_t frame, std::string_view function, std::string_view file,
                         uint32_t line);
  // Frames innermost first.
  base::Result<uint32_t> addStack(std::span<const uint32_t> frames);
  // `parameters`: "offset:size …" of each; absent: not known (yet).
  base::Result<uint32_t> addKernel(uint32_t process, uint64_t handle, std::string_view name,
                                   std::optional<std::string_view> parameters = std::nullopt);
  base::Status nameKernel(uint32_t kernel, std::string_view name);
  base::Status setKernelParameters(uint32_t kernel, std::string_view parameters);

  // plane, verb and kind are those of the function: they are not stored twice.
  base::Status addCall(const model::MemoryCall& call);
  base::Status addLaunches(const LaunchRow& row);
  base::Status addLaunchEvent(const LaunchEventRow& row);
  base::Status addCopies(const CopyRow& row);
  base::Status addDeviceName(uint32_t id, std::string_view name);
  base::Status addDeviceActivity(const DeviceActivityRow& row);
  base::Status addDeviceProgram(const DeviceProgramRow& row);
  base::Status addLoss(int64_t time_ns, std::string_view reason, uint64_t count);
  // No process: it made no recorded call.
  base::Status addUnwatched(const model::Unwatched& row, std::optional<uint32_t> process);
  base::Status addDevice(const DeviceRow& row);
  base::Status addDeviceMemory(const DeviceMemoryRow& row);

  base::Status commit();
  // Moves the journal into the file, as far as no reader prevents it: then the journal is smallest.
  void fold();
  uint64_t rowsInTransaction() const;
  // Bytes of the file and its journal, after the last commit.
  uint64_t fileBytes() const;
  // What the user may still write to the disk of the file; absent: the file system does not say.
  std::optional<uint64_t> freeBytes() const;
  uint64_t journalBytes() const;  // of these: what fold() writes into the file
  // Ends the recording: commits, moves everything into one file. Active readers keep the journal
  // beside it. `ended_ns` absent: the current wall clock.
  base::Status finish(std::optional<int64_t> ended_ns = std::nullopt);
  // Ends it as well, but only without readers: then there is one file that can be renamed. False:
  // there are readers, and the recording continues.
  base::Result<bool> finishAlone(int64_t ended_ns);
  // New readers of Tidegauge wait (readers/recording/growth.h) until this is reset or the file
  // ends.
  void letReadersWait(bool on);

 private:
  class Impl;
  explicit RecordingWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tidegauge::store
