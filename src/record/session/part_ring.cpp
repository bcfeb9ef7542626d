#include "record/session/part_ring.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <utility>

#include "store/recording_writer.h"

namespace tidegauge::record {
namespace {

namespace fs = std::filesystem;

// The index beside the newest part, and what one transaction may be more than was looked at.
constexpr uint64_t kBeside = uint64_t{1} << 20;

std::pair<std::string, std::string> splitName(const std::string& path) {
  size_t name = path.find_last_of('/') + 1;  // 0 without a folder
  size_t dot = path.find_last_of('.');
  if (dot == std::string::npos || dot <= name) dot = path.size();
  return {path.substr(0, dot), path.substr(dot)};
}

base::Error systemError(const std::string& what, int code) {
  return {base::ErrorKind::kUnreadable, fmt::format("{}: {}", what, std::strerror(code)),
          std::nullopt, ""};
}

struct Found {
  std::string path;
  uint32_t number = 0;
};

std::vector<Found> partsThere(const std::string& path) {
  auto [stem, extension] = splitName(path);
  fs::path folder = fs::path(path).parent_path();
  std::string begin = fs::path(stem + ".").filename().string();
  std::vector<Found> found;
  std::error_code error;
  for (auto at = fs::directory_iterator(folder.empty() ? "." : folder, error);
       !error && at != fs::directory_iterator(); at.increment(error)) {
    std::string name = at->path().filename().string();
    if (!name.starts_with(begin) || !name.ends_with(extension)) continue;
    if (name.size() <= begin.size() + extension.size()) continue;
    const char* first = name.data() + begin.size();
    const char* last = name.data() + name.size() - extension.size();
    uint32_t number = 0;
    auto [end, wrong] = std::from_chars(first, last, number);
    if (wrong == std::errc() && end == last && number > 0 && *first != '0')
      found.push_back({partName(path, number), number});
  }
  return found;
}

}  // namespace

std::string partName(const std::string& path, uint32_t number) {
  auto [stem, extension] = splitName(path);
  return fmt::format("{}.{}{}", stem, number, extension);
}

PartRing::PartRing(std::string path, uint64_t max_bytes, uint64_t fresh_bytes)
    : path_(std::move(path)),
      max_bytes_(max_bytes),
      fresh_bytes_(fresh_bytes > 0 ? fresh_bytes : max_bytes / 8) {}

base::Result<std::vector<std::string>> PartRing::older(const std::string& path, bool replace) {
  std::vector<std::string> parts;
  for (Found& found : partsThere(path)) parts.push_back(std::move(found.path));
  for (const std::string& part : parts) {
    if (!replace)
      return base::Error{base::ErrorKind::kUsage, part + " already exists", std::nullopt,
                         "It has the name of a part of this recording (--max-size): give another "
                         "name, or --force to remove it."};
    if (!store::isRecording(part))
      return base::Error{base::ErrorKind::kUsage, part + " is not a recording", std::nullopt,
                         "It has the name of a part of this recording (--max-size): move it away, "
                         "or give another name."};
    if (store::isBeingWritten(part))
      return base::Error{base::ErrorKind::kUsage,
                         part + " is being recorded to by another tidegauge", std::nullopt,
                         "End that recording first, or give another name."};
  }
  return parts;
}

std::string PartRing::notAPart(const std::string& path) {
  for (const Found& found : partsThere(path))
    if (store::metaOf(found.path, "part") != std::to_string(found.number)) return found.path;
  return {};
}

base::Status PartRing::remove(const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    for (const char* suffix : {"", "-wal", "-shm", "-journal"})
      if (::unlink((part + suffix).c_str()) != 0 && errno != ENOENT)
        return systemError(fmt::format("cannot remove {}{}", part, suffix), errno);
  return base::okStatus();
}

uint64_t PartRing::keptBytes() const {
  uint64_t bytes = 0;
  for (const Part& part : parts_) bytes += part.bytes;
  return bytes;
}

int64_t PartRing::keptFrom_ns() const {
  return parts_.empty() ? began_ns_ : parts_.front().began_ns;
}

void PartRing::makeRoom(uint64_t newest_bytes) {
  while (!parts_.empty() && keptBytes() + newest_bytes + kBeside > max_bytes_) {
    std::string name = partName(path_, parts_.front().number);
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) ::unlink((name + suffix).c_str());
    parts_.pop_front();
    ++removed_;
  }
  is_too_small_ |= parts_.empty() && newest_bytes + kBeside > max_bytes_;
}

base::Status PartRing::keep(int64_t next_began_ns) {
  std::string name = partName(path_, number_);
  // A second name, until the next part takes the first: who reads finds a file at any moment.
  int moved = ::link(path_.c_str(), name.c_str());
  if (moved != 0 && errno != EEXIST)  // a file system without links
    moved = ::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, name.c_str(), RENAME_NOREPLACE);
  if (moved != 0 && (errno == EINVAL || errno == ENOSYS))  // nor that
    moved = ::rename(path_.c_str(), name.c_str());
  if (moved != 0)
    return systemError(fmt::format("{}: cannot be renamed to {}", path_, name), errno);
  struct stat file {};
  uint64_t bytes = ::stat(name.c_str(), &file) == 0 ? static_cast<uint64_t>(file.st_size) : 0;
  parts_.push_back({number_++, bytes, began_ns_});
  began_ns_ = next_began_ns;
  return base::okStatus();
}

std::vector<std::string> PartRing::kept() const {
  std::vector<std::string> names;
  for (const Part& part : parts_) names.push_back(partName(path_, part.number));
  return names;
}

}  // namespace tidegauge::record
