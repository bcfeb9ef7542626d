#include "wss/machine/reclaim_bell.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "wss/machine/lru_gen.h"

namespace tidegauge::wss {
namespace {

constexpr size_t kMaxCgroupText = size_t{1} << 20, kMaxDepth = 64;

std::string textNow(int file) {
  std::array<char, 512> text;
  ssize_t bytes = pread(file, text.data(), text.size(), 0);
  std::string_view read(text.data(), bytes < 0 ? 0 : static_cast<size_t>(bytes));
  // "some avg10=0.31 avg60=… total=93010": the averages change without any new event.
  if (!read.starts_with("some ")) return std::string(read);
  size_t total = read.find("total=");
  return std::string(read.substr(std::min(total, read.size()), read.find('\n') - total));
}

}  // namespace

ReclaimBell::ReclaimBell(const Process& process, const std::string& root) {
  auto add = [&](const std::string& path) {
    int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    counters_.push_back({file, textNow(file)});
  };
  add(root + "/proc/pressure/memory");
  auto file = process.openFile("cgroup", O_RDONLY);
  if (!file.ok()) return;
  int error_number = 0;
  std::string path = memoryCgroup(readAll(file.value(), kMaxCgroupText, error_number));
  close(file.value());
  if (path == "/") path.clear();
  for (size_t depth = 0; depth < kMaxDepth; ++depth) {
    add(fmt::format("{}/sys/fs/cgroup{}/memory.events", root, path));
    for (const char* name : {"memory.failcnt", "memory.memsw.failcnt"})
      add(fmt::format("{}/sys/fs/cgroup/memory{}/{}", root, path, name));
    if (!path.starts_with('/')) break;
    path.resize(path.rfind('/'));
  }
}

ReclaimBell::~ReclaimBell() {
  for (const Counter& counter : counters_) close(counter.file);
}

bool ReclaimBell::rang() {
  bool is_new = false;
  for (Counter& counter : counters_) {
    std::string now = textNow(counter.file);
    is_new |= now != counter.last;
    counter.last = std::move(now);
  }
  return is_new;
}

}  // namespace tidegauge::wss
