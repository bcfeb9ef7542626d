#include "readers/torch/snapshot_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <new>

#include "readers/torch/assemble.h"
#include "readers/torch/columns/columns.h"
#include "readers/torch/pickle/json.h"
#include "readers/torch/pickle/machine.h"
#include "readers/torch/pickle/pickle.h"

namespace tidegauge::readers::torch {
namespace {

using base::Error;
using base::ErrorKind;

// HTML pages pad the embedded pickle with NULs; anything else after the end is reported.
void reportTrailing(model::Trace& trace, std::span<const uint8_t> input, uint64_t end_offset) {
  auto rest = input.subspan(end_offset);
  bool padding = std::all_of(rest.begin(), rest.end(), [](uint8_t byte) { return byte == 0; });
  if (padding) return;
  model::Issue issue;
  issue.kind = model::IssueKind::kTrailingBytes;
  issue.count = rest.size();
  issue.first_offset = end_offset;
  trace.issues.add(std::move(issue));
}

Error unknownFormat(std::span<const uint8_t> input) {
  auto startsWith = [&](std::initializer_list<int> bytes) {
    return input.size() >= bytes.size() && std::equal(bytes.begin(), bytes.end(), input.begin());
  };
  if (startsWith({0xff, 0xfe}) || startsWith({0xfe, 0xff}) || startsWith({'{', 0}) ||
      startsWith({'[', 0}) || startsWith({0, '{'}) || startsWith({0, '['})) {
    return {ErrorKind::kUnreadable, "this looks like JSON in UTF-16", 0, "Save it again as UTF-8."};
  }
  // How pickles of protocol 0 and 1 start: a mark or an empty dict or list, then an opcode.
  bool old_pickle = input.size() > 1 &&
                    (input[0] == '(' || input[0] == '}' || input[0] == ']' || input[0] == 'c');
  if (old_pickle) {
    return {ErrorKind::kUnreadable, "this looks like a pickle of protocol 0 or 1", 0,
            "Save the snapshot again with protocol 2 or newer."};
  }
  constexpr size_t kTarMagic = 257;
  bool tar = input.size() >= kTarMagic + 5 && std::memcmp(&input[kTarMagic], "ustar", 5) == 0;
  const char* packed = startsWith({0x04, 0x22, 0x4d, 0x18}) ? "lz4"
                       : startsWith({'7', 'z', 0xbc, 0xaf}) ? "7z"
                       : tar                                ? "tar"
                                                            : nullptr;
  if (packed != nullptr) {
    return {ErrorKind::kUnreadable, fmt::format("the file is packed with {}", packed), 0,
            "Unpack it first. Tidegauge reads gzip, zstd, xz, bzip2 and zip directly."};
  }
  constexpr std::string_view kSqlite = "SQLite format 3";
  if (input.size() > kSqlite.size() &&
      std::memcmp(input.data(), kSqlite.data(), kSqlite.size()) == 0) {
    return {ErrorKind::kUnreadable,
            "this is an SQLite file, which Tidegauge can only open by its file name", 0,
            "Give the name of the recording instead of “-” or a pipe."};
  }
  return {ErrorKind::kUnreadable,
          "this is not a PyTorch memory snapshot, because it is neither a pickle nor JSON", 0,
          "Create one with torch.cuda.memory._dump_snapshot(\"file.pickle\")."};
}

struct Attempt {
  base::Result<model::Trace> result = Error{};
  size_t snapshots = 1;  // in the value
  std::string path;      // of this one, inside dicts and lists
  bool needs_careful = false;
  bool cut_off = false;  // failed only because the input ended
};

// torch.save's older format: pickles of a magic number, a version and a description of the machine
// come before the value, and those of the tensors after it. Returns where the value begins; 0 for
// any other input.
size_t afterTorchHeader(std::span<const uint8_t> input) {
  constexpr uint8_t kMagic[] = {0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46,
                                0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, '.'};
  constexpr int kHeaderPickles = 2;  // after the magic number
  if (input.size() < sizeof kMagic || std::memcmp(input.data(), kMagic, sizeof kMagic) != 0)
    return 0;
  size_t at = sizeof kMagic;
  for (int i = 0; i < kHeaderPickles; ++i) {
    std::span<const uint8_t> rest = input.subspan(at);
    model::Trace scratch;
    Values values(rest, scratch.strings);
    Oddities oddities(values);
    Columns columns(scratch, values, oddities);
    Machine machine(columns, Mode::kCareful);
    PickleEnd end;
    if (!looksLikePickle(rest) || !readPickle(rest, machine, columns, {}, end)) return 0;
    at += end.end_offset;
  }
  return at;
}

Error tooManyWrapped() {
  return {ErrorKind::kLimit,
          fmt::format("it contains more than {} snapshots, which Tidegauge does not read at once",
                      kMaxWrapped),
          0, "Save them as files of their own."};
}

// What a value is read from: bytes, or a program's own objects.
struct Source {
  std::span<const uint8_t> input{};
  const FeedObjects* feed = nullptr;

  // A file may say much in few bytes, so what is made of it is limited. Objects are there already.
  uint64_t bytes() const { return feed != nullptr ? uint64_t{1} << 40 : input.size(); }
};

struct Read {
  Value top;
  uint64_t end_offset = 0;
  std::string format;
};

bool readTop(const Source& source, Machine& machine, Columns& columns, Values& values,
             const BytesDone& bytes_done, Read& read) {
  if (source.feed != nullptr) {
    read.format = "Python objects";
    return (*source.feed)(machine, values, read.top);
  }
  if (looksLikePickle(source.input)) {
    PickleEnd end;
    if (!readPickle(source.input, machine, columns, bytes_done, end)) return false;
    read = {end.top, end.end_offset, fmt::format("pickle protocol {}", end.protocol)};
    return true;
  }
  JsonEnd end;
  if (!readJson(source.input, machine, values, bytes_done, end)) return false;
  read = {end.top, end.end_offset, "JSON"};
  return true;
}

// `which`: of several snapshots that a program put into one value.
Attempt tryRead(const Source& source, Mode mode, const ReadOptions& options, size_t which) {
  std::span<const uint8_t> input = source.input;
  Attempt attempt;
  model::Trace trace;
  Values values(input, trace.strings, source.bytes());
  Oddities oddities(values);
  Columns columns(trace, values, oddities);
  columns.reserve(input.size());
  bool hands_on = mode == Mode::kQuick && which == 0 && options.take_chunk;
  if (hands_on) columns.handOnTo(options.take_chunk);
  Machine machine(columns, mode);
  BytesDone bytes_done;
  if (options.progress) {
    bytes_done = [&](uint64_t done) { options.progress(done, input.size()); };
  }
  Read read;
  if (!readTop(source, machine, columns, values, bytes_done, read)) {
    if (hands_on) options.forget_chunks();
    attempt.needs_careful = machine.needsCareful();
    attempt.cut_off = machine.isCutOff();
    attempt.result = std::move(machine.error());
    return attempt;
  }
  std::vector<FoundSnapshot> found = findSnapshots(columns, read.top);
  attempt.snapshots = found.size();
  if (found.size() > kMaxWrapped || which >= found.size()) {
    attempt.result = tooManyWrapped();
    return attempt;
  }
  attempt.path = found[which].path;
  if (auto status = assemble(trace, columns, found[which].value); !status.ok()) {
    attempt.result = std::move(status.error());
    // The error concerns the file as a whole.
    if (!attempt.result.error().byte_offset) attempt.result.error().byte_offset = 0;
    return attempt;
  }
  if (hands_on && (columns.rowsMoved() || found.size() > 1)) options.forget_chunks();
  trace.source.format = std::move(read.format);
  reportTrailing(trace, input, read.end_offset);
  if (options.progress) options.progress(input.size(), input.size());
  attempt.result = std::move(trace);
  return attempt;
}

Attempt readEitherWay(const Source& source, const ReadOptions& options, size_t which) {
  Mode mode = options.careful ? Mode::kCareful : Mode::kQuick;
  Attempt attempt = tryRead(source, mode, options, which);
  if (attempt.needs_careful) attempt = tryRead(source, Mode::kCareful, options, which);
  return attempt;
}

// All snapshots of the value.
base::Result<std::vector<model::Trace>> readAll(const Source& source, const std::string& name,
                                                const ReadOptions& options) {
  std::vector<model::Trace> traces;
  for (size_t which = 0, snapshots = 1; which < snapshots; ++which) {
    Attempt attempt = readEitherWay(source, options, which);
    if (!attempt.result.ok()) return std::move(attempt.result.error());
    snapshots = attempt.snapshots;
    model::Trace trace = std::move(attempt.result).value();
    // Each is read separately: they share the columns that the reader fills.
    trace.source.name = snapshots == 1 ? name : fmt::format("{}/{}", name, attempt.path);
    traces.push_back(std::move(trace));
  }
  return traces;
}

Error outOfMemory() {
  return {ErrorKind::kLimit, "not enough memory to read this file", std::nullopt, ""};
}

// The value of torch.save's older format is followed by others.
void dropTrailing(model::Issues& issues) {
  model::Issues kept;
  for (const model::Issue& issue : issues.all()) {
    if (issue.kind != model::IssueKind::kTrailingBytes) kept.add(issue);
  }
  issues = std::move(kept);
}

}  // namespace

bool isPickleOrJson(std::span<const uint8_t> input) {
  return looksLikePickle(input) || looksLikeJson(input);
}

bool mayBecomeSnapshot(std::span<const uint8_t> start) {
  if (!isPickleOrJson(start)) return false;
  // A number or escape that is cut in two by the end of `start` is not an error of the whole.
  constexpr uint64_t kLongestPart = 64;
  Attempt attempt = readEitherWay({start.subspan(afterTorchHeader(start))}, {}, 0);
  if (attempt.result.ok() || attempt.cut_off) return true;
  std::optional<uint64_t> offset = attempt.result.error().byte_offset;
  return offset && *offset + kLongestPart > start.size();
}

base::Result<model::Trace> readSnapshot(std::span<const uint8_t> input, const std::string& name,
                                        const ReadOptions& options) {
  TG_ASSIGN_OR_RETURN(std::vector<model::Trace> traces, readSnapshots(input, name, options));
  return std::move(traces.front());
}

base::Result<std::vector<model::Trace>> readSnapshots(std::span<const uint8_t> input,
                                                      const std::string& name,
                                                      const ReadOptions& options) {
  if (input.empty())
    return Error{ErrorKind::kUnreadable, "the file is empty", 0,
                 "Write the snapshot or recording again; perhaps the program was stopped before it "
                 "wrote it."};
  if (!isPickleOrJson(input)) return unknownFormat(input);
  try {
    size_t header_bytes = afterTorchHeader(input);
    TG_ASSIGN_OR_RETURN(std::vector<model::Trace> traces,
                        readAll({input.subspan(header_bytes)}, name, options));
    for (model::Trace& trace : traces) {
      trace.source.data_bytes = input.size();
      trace.source.file_bytes = input.size();
      if (header_bytes > 0) dropTrailing(trace.issues);
    }
    return traces;
  } catch (const std::bad_alloc&) {
    return outOfMemory();
  }
}

base::Result<std::vector<model::Trace>> readObjects(const FeedObjects& feed,
                                                    const std::string& name,
                                                    const ReadOptions& options) {
  try {
    base::Result<std::vector<model::Trace>> traces = readAll({{}, &feed}, name, options);
    if (!traces.ok()) traces.error().byte_offset.reset();  // there are no bytes
    return traces;
  } catch (const std::bad_alloc&) {
    return outOfMemory();
  }
}

}  // namespace tidegauge::readers::torch
