#include "record/code/loader_cache.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

namespace tidegauge::record {
namespace {

constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
constexpr size_t kCountAt = 20;
constexpr size_t kHeadBytes = 48;
constexpr size_t kEntryBytes = 24;
constexpr size_t kPathAt = 8;  // in an entry: flags, name, path, version, hardware
constexpr size_t kMaxPath = 4096;
constexpr size_t kMaxFiles = 1000;

uint32_t numberAt(std::string_view bytes, size_t at) {
  uint32_t number = 0;
  if (at + sizeof(number) <= bytes.size()) std::memcpy(&number, bytes.data() + at, sizeof(number));
  return number;
}

}  // namespace

std::vector<std::string> pathsOfLoaderCache(std::string_view cache, const Wanted& wanted) {
  std::vector<std::string> paths;
  std::set<size_t> places;
  size_t begin = cache.find(kMagic);
  if (begin == std::string_view::npos) return paths;
  cache.remove_prefix(begin);
  if (cache.size() < kHeadBytes) return paths;
  size_t room = (cache.size() - kHeadBytes) / kEntryBytes;
  size_t count = std::min<size_t>(numberAt(cache, kCountAt), room);
  for (size_t i = 0; i < count && paths.size() < kMaxFiles; ++i) {
    size_t at = numberAt(cache, kHeadBytes + i * kEntryBytes + kPathAt);
    if (at >= cache.size() || !places.insert(at).second) continue;
    std::string_view path = cache.substr(at, kMaxPath);
    path = path.substr(0, path.find('\0'));
    if (path.starts_with('/') && wanted(path)) paths.emplace_back(path);
  }
  return paths;
}

std::vector<std::string> filesOfPath(std::string_view folders, const Wanted& wanted) {
  std::vector<std::string> files;
  while (!folders.empty()) {
    size_t end = std::min(folders.find_first_of(":;"), folders.size());
    std::string_view folder = folders.substr(0, end);
    folders.remove_prefix(std::min(end + 1, folders.size()));
    if (!folder.starts_with('/')) continue;  // empty: where the program starts
    std::error_code error;
    std::filesystem::directory_iterator at(folder, error);
    for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
      if (files.size() >= kMaxFiles) return files;
      std::string path = at->path().string();
      if (wanted(path)) files.push_back(std::move(path));
    }
  }
  return files;
}

}  // namespace tidegauge::record
