#include "readers/recording/opened_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "model/recording_format.h"
#include "readers/recording/file/growth.h"

namespace tidegauge::readers::recording {
namespace {

constexpr size_t kHeadBytes = 100;

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

// Absent: while it was opened, the next part took the name, or was about to.
base::Result<std::optional<OpenedFile>> openOnce(const std::string& path) {
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
  if (!held->isAt(path) || (waits && held->isEnding())) return std::optional<OpenedFile>();
  if (!file.ok()) return std::move(file.error());
  return std::optional<OpenedFile>({std::move(held), std::move(file.value()), has_writer, is_open});
}

}  // namespace

base::Result<OpenedFile> openFile(const std::string& path) {
  constexpr int kMaxOpenTries = 20;
  for (int i = 0; i < kMaxOpenTries; ++i) {
    TG_ASSIGN_OR_RETURN(std::optional<OpenedFile> opened, openOnce(path));
    if (opened) return std::move(*opened);
  }
  return base::Error{base::ErrorKind::kUnreadable, "the file was replaced while it was opened",
                     std::nullopt, "Try again."};
}

}  // namespace tidegauge::readers::recording
