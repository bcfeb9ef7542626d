#include "record/code/perf_map.h"

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

constexpr size_t kMaxBytes = size_t{64} << 20;
constexpr size_t kMaxNames = 500'000;
constexpr size_t kLongestLine = 4096;
constexpr uint32_t kMaxTries = 1000;
constexpr size_t kMaxRoots = 256;  // open root folders
constexpr int kMaxParents = 16;

bool takeHex(std::string_view& text, uint64_t& value) {
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || rest == text.data() + text.size() || *rest != ' ') return false;
  text.remove_prefix(static_cast<size_t>(rest - text.data()) + 1);
  return true;
}

// "NSpid:  4711  12  1": the last is the pid in the process's own namespace.
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

// Follows every link within the process's own root, as the process would.
int openInside(int root, const std::string& path) {
  open_how how{};
  how.flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(syscall(SYS_openat2, root, path.c_str(), &how, sizeof(how)));
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
  if (entries_.size() >= kMaxNames || !takeHex(line, start) || !takeHex(line, bytes)) return;
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
  for (const auto& [tgid, file] : files_) closeAll(file);
}

void PerfMaps::closeAll(const File& file) {
  for (int descriptor : {file.root, file.descriptor})
    if (descriptor >= 0) close(descriptor);
}

// A process may change its root before exec, as container runtimes and chroot do.
void PerfMaps::look(uint32_t tgid) {
  File& file = files_[tgid];
  struct stat process {
  }, root{}, before{};
  std::string folder = fmt::format("/proc/{}", tgid);
  if (stat(folder.c_str(), &process) != 0 || stat((folder + "/root").c_str(), &root) != 0) return;
  if (file.root >= 0 && fstat(file.root, &before) == 0 &&
      (before.st_dev != root.st_dev || before.st_ino != root.st_ino)) {
    roots_ -= 1;
    closeAll(file);
    file = File{};
  }
  if (file.root >= 0 || roots_ == kMaxRoots) return;
  file.user = process.st_uid;
  file.own_pid = ownPid(tgid);
  file.root = open((folder + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  roots_ += file.root >= 0;
}

void PerfMaps::readOn(File& file) {
  if (file.descriptor < 0) {
    if (file.root < 0 || file.own_pid.empty() || ++file.tries > kMaxTries) return;
    int descriptor = openInside(file.root, "/tmp/perf-" + file.own_pid + ".map");
    struct stat map {};
    bool trusted = descriptor >= 0 && fstat(descriptor, &map) == 0 && S_ISREG(map.st_mode) &&
                   (map.st_uid == file.user || map.st_uid == 0);
    if (!trusted) {
      if (descriptor >= 0) close(descriptor);
      return;
    }
    file.descriptor = descriptor;
  }
  std::vector<char> part(size_t{64} << 10);
  while (file.read_bytes < kMaxBytes) {
    ssize_t got =
        pread(file.descriptor, part.data(), part.size(), static_cast<off_t>(file.read_bytes));
    if (got <= 0) return;
    file.read_bytes += static_cast<uint64_t>(got);
    file.names.add({part.data(), static_cast<size_t>(got)});
  }
}

const CodeName* PerfMaps::find(uint32_t tgid, uint64_t address) {
  for (int i = 0; i < kMaxParents && tgid != 0; ++i) {
    if (i > 0 && !files_.contains(tgid)) break;  // it ended
    File& file = files_[tgid];
    const CodeName* name = file.names.find(address);
    if (name == nullptr) {
      look(tgid);
      readOn(file);
      name = file.names.find(address);
    }
    if (name != nullptr) return name;
    tgid = file.parent;
  }
  return nullptr;
}

void PerfMaps::inherit(uint32_t tgid, uint32_t parent) { files_[tgid].parent = parent; }

void PerfMaps::forget(uint32_t tgid) {
  auto file = files_.find(tgid);
  if (file == files_.end()) return;
  roots_ -= file->second.root >= 0;
  closeAll(file->second);
  files_.erase(file);
}

}  // namespace tidegauge::record
