#include "cli/record/record_room.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <optional>

#include "base/format.h"
#include "base/text_layout.h"
#include "record/session/part_ring.h"

namespace tidegauge::cli {
namespace {

constexpr uint64_t kDefaultShare = 4;  // a quarter of what is free

// Absent: the file system does not say, as one in memory may.
std::optional<uint64_t> freeBytesFor(const std::string& path) {
  std::string folder = path.substr(0, path.find_last_of('/') + 1);
  struct statvfs disk {};
  if (statvfs(folder.empty() ? "." : folder.c_str(), &disk) != 0 || disk.f_blocks == 0)
    return std::nullopt;
  return uint64_t{disk.f_bavail} * disk.f_frsize;
}

}  // namespace

base::Result<RecordRoom> roomFor(const std::string& path, const RecordOptions& options) {
  std::optional<uint64_t> free_bytes = freeBytesFor(path);
  if (free_bytes && *free_bytes < options.keep_free_bytes)
    return base::Error{
        base::ErrorKind::kUnreadable,
        fmt::format("the disk of {} has {} left, and record keeps {} free", base::printable(path),
                    base::humanBytes(*free_bytes), base::humanBytes(options.keep_free_bytes)),
        {},
        "Record to another disk with -o, or change --keep-free"};
  if (options.max_bytes) return RecordRoom{*options.max_bytes, false};
  if (!free_bytes) return RecordRoom{};
  return RecordRoom{std::max(*free_bytes / kDefaultShare, record::kMinRecordingBytes), true};
}

}  // namespace tidegauge::cli
