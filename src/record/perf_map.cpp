#include "record/perf_map.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <sstream>
#include <vector>

namespace tidegauge::record {
namespace {

constexpr size_t kMostBytes = size_t{64} << 20;
constexpr size_t kMostNames = 500'000;
constexpr size_t kLongestLine = 4096;
constexpr uint32_t kMostTries = 1000;
constexpr int kMostParents = 16;

bool takeHex(std::string_view& text, uint64_t& value) {
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || rest == text.data() + text.size() || *rest != ' ') return false;
  text.remove_prefix(static_cast<size_t>(rest - text.data()) + 1);
  return true;
}

// "NSpid:  4711  12  1": the pid that the process knows itself by is the last.
std::string ownPid(uint32_t tgid) {
  std::ifstream file(fmt::format("/proc/{}/status", tgid));
  std::string line, word, last;
  while (std::getline(file, line)) {
    if (!line.starts_with("NSpid:")) continue;
    std::istringstream words(line.substr(6));
    while (words >> word) last = word;
    break;
  }
  return last;
}

// Every link on the way is followed within the process's own root, as the process would.
int openInside(uint32_t tgid, const std::string& path) {
  int root = open(fmt::format("/proc/{}/root", tgid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) return -1;
  open_how how{};
  how.flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  auto file = static_cast<int>(syscall(SYS_openat2, root, path.c_str(), &how, sizeof(how)));
  close(root);
  return file;
}

}  // namespace

void PerfMap::add(std::string_view text) {
  while (!text.empty()) {
    size_t end = text.find('\n');
    std::string_view part = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (rest_.size() + part.size() > kLongestLine) {
      rest_.clear();
      skip_ = true;
    }
    if (!skip_) rest_ += part;
    if (end == std::string_view::npos) return;
    if (!skip_) addLine(rest_);
    rest_.clear();
    skip_ = false;
  }
}

void PerfMap::addLine(std::string_view line) {
  uint64_t start = 0, bytes = 0;
  if (entries_.size() >= kMostNames || !takeHex(line, start) || !takeHex(line, bytes)) return;
  if (bytes == 0 || start + bytes < start || line.empty()) return;
  CodeName name;
  constexpr std::string_view kPython = "py::";
  if (line.starts_with(kPython)) {
    line.remove_prefix(kPython.size());
    size_t colon = line.find(':');
    if (colon != std::string_view::npos) name.file = line.substr(colon + 1);
    line = line.substr(0, colon);
  }
  name.function = line;
  entries_[start] = {start + bytes, std::move(name)};
}

const CodeName* PerfMap::find(uint64_t address) const {
  auto after = entries_.upper_bound(address);
  if (after == entries_.begin()) return nullptr;
  const Entry& entry = std::prev(after)->second;
  return address < entry.end ? &entry.name : nullptr;
}

PerfMaps::~PerfMaps() {
  for (const auto& [tgid, file] : files_)
    if (file.descriptor >= 0) close(file.descriptor);
}

void PerfMaps::readOn(uint32_t tgid, File& file) {
  if (file.descriptor < 0) {
    if (++file.tries > kMostTries) return;
    std::string pid = ownPid(tgid);
    if (pid.empty()) return;
    file.descriptor = openInside(tgid, "/tmp/perf-" + pid + ".map");
    struct stat map {
    }, process{};
    bool trusted = file.descriptor >= 0 && fstat(file.descriptor, &map) == 0 &&
                   stat(fmt::format("/proc/{}", tgid).c_str(), &process) == 0 &&
                   S_ISREG(map.st_mode) && (map.st_uid == process.st_uid || map.st_uid == 0);
    if (!trusted && file.descriptor >= 0) {
      close(file.descriptor);
      file.descriptor = -1;
    }
    if (file.descriptor < 0) return;
  }
  std::vector<char> part(size_t{64} << 10);
  while (file.read_bytes < kMostBytes) {
    ssize_t got =
        pread(file.descriptor, part.data(), part.size(), static_cast<off_t>(file.read_bytes));
    if (got <= 0) return;
    file.read_bytes += static_cast<uint64_t>(got);
    file.names.add({part.data(), static_cast<size_t>(got)});
  }
}

const CodeName* PerfMaps::find(uint32_t tgid, uint64_t address) {
  for (int i = 0; i < kMostParents && tgid != 0; ++i) {
    if (i > 0 && !files_.contains(tgid)) break;  // it ended
    File& file = files_[tgid];
    const CodeName* name = file.names.find(address);
    if (name == nullptr) {
      readOn(tgid, file);
      name = file.names.find(address);
    }
    if (name != nullptr) return name;
    tgid = file.parent;
  }
  return nullptr;
}

void PerfMaps::inherit(uint32_t tgid, uint32_t parent) {
  files_[tgid].parent = parent;
}

void PerfMaps::forget(uint32_t tgid) {
  auto file = files_.find(tgid);
  if (file == files_.end()) return;
  if (file->second.descriptor >= 0) close(file->second.descriptor);
  files_.erase(file);
}

}  // namespace tidegauge::record
