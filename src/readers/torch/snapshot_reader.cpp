#include "readers/torch/snapshot_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <new>

#include "readers/torch/assemble.h"
#include "readers/torch/pickle/columns.h"
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
  const char* packed = startsWith({0xfd, '7', 'z', 'X', 'Z', 0}) ? "xz"
                       : startsWith({'B', 'Z', 'h'})             ? "bzip2"
                       : startsWith({0x04, 0x22, 0x4d, 0x18})    ? "lz4"
                       : startsWith({'7', 'z', 0xbc, 0xaf})      ? "7z"
                       : tar                                     ? "tar"
                                                                 : nullptr;
  if (packed != nullptr) {
    return {ErrorKind::kUnreadable, fmt::format("the file is packed with {}", packed), 0,
            "Unpack it first. Tidegauge reads gzip, zstd and zip directly."};
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
  bool needs_careful = false;
  bool cut_off = false;  // failed only because the input ended
};

Attempt tryRead(std::span<const uint8_t> input, Mode mode, const ReadOptions& options) {
  Attempt attempt;
  model::Trace trace;
  Values values(input, trace.strings);
  Oddities oddities(values);
  Columns columns(trace, values, oddities);
  columns.reserve(input.size());
  Machine machine(columns, mode);
  BytesDone bytes_done;
  if (options.progress) {
    bytes_done = [&](uint64_t done) { options.progress(done, input.size()); };
  }
  bool pickle = looksLikePickle(input);
  PickleEnd pickle_end;
  JsonEnd json_end;
  bool read = pickle ? readPickle(input, machine, columns, bytes_done, pickle_end)
                     : readJson(input, machine, values, bytes_done, json_end);
  if (!read) {
    attempt.needs_careful = machine.needsCareful();
    attempt.cut_off = machine.isCutOff();
    attempt.result = std::move(machine.error());
    return attempt;
  }
  if (auto status = assemble(trace, columns, pickle ? pickle_end.top : json_end.top);
      !status.ok()) {
    attempt.result = std::move(status.error());
    // The error concerns the file as a whole.
    if (!attempt.result.error().byte_offset) attempt.result.error().byte_offset = 0;
    return attempt;
  }
  trace.source.format = pickle ? fmt::format("pickle protocol {}", pickle_end.protocol) : "JSON";
  reportTrailing(trace, input, pickle ? pickle_end.end_offset : json_end.end_offset);
  if (options.progress) options.progress(input.size(), input.size());
  attempt.result = std::move(trace);
  return attempt;
}

Attempt readEitherWay(std::span<const uint8_t> input, const ReadOptions& options) {
  Attempt attempt = tryRead(input, options.careful ? Mode::kCareful : Mode::kQuick, options);
  if (attempt.needs_careful) attempt = tryRead(input, Mode::kCareful, options);
  return attempt;
}

}  // namespace

bool isPickleOrJson(std::span<const uint8_t> input) {
  return looksLikePickle(input) || looksLikeJson(input);
}

bool mayBecomeSnapshot(std::span<const uint8_t> start) {
  if (!isPickleOrJson(start)) return false;
  // A number or escape that is cut in two by the end of `start` is not an error of the whole.
  constexpr uint64_t kLongestPart = 64;
  Attempt attempt = readEitherWay(start, {});
  if (attempt.result.ok() || attempt.cut_off) return true;
  std::optional<uint64_t> offset = attempt.result.error().byte_offset;
  return offset && *offset + kLongestPart > start.size();
}

base::Result<model::Trace> readSnapshot(std::span<const uint8_t> input, std::string name,
                                        const ReadOptions& options) {
  if (input.empty())
    return Error{ErrorKind::kUnreadable, "the file is empty", 0,
                 "Write the snapshot again; perhaps the program was stopped before it wrote it."};
  if (!isPickleOrJson(input)) return unknownFormat(input);
  try {
    Attempt attempt = readEitherWay(input, options);
    if (attempt.result.ok()) {
      model::Source& source = attempt.result.value().source;
      source.name = std::move(name);
      source.data_bytes = input.size();
      source.file_bytes = input.size();
    }
    return std::move(attempt.result);
  } catch (const std::bad_alloc&) {
    return Error{ErrorKind::kLimit, "not enough memory to read this file", std::nullopt, ""};
  }
}

}  // namespace tidegauge::readers::torch
