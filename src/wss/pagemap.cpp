#include "wss/pagemap.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "wss/page_bits.h"

namespace tidegauge::wss {

WordFile::~WordFile() {
  if (file_ >= 0) close(file_);
}

ssize_t WordFile::read(std::span<uint64_t> words, uint64_t first) const {
  ssize_t got = 0;
  do got = pread(file_, words.data(), words.size_bytes(), static_cast<off_t>(first * 8));
  while (got < 0 && errno == EINTR);
  return got < 0 ? got : got / 8;
}

base::Status readPagemap(const Process& process, const std::vector<MappingUse>& uses,
                         const std::function<void(size_t, std::span<const uint64_t>)>& visit) {
  constexpr size_t kEntriesOfARead = 1 << 16;
  TG_ASSIGN_OR_RETURN(int opened, process.openFile("pagemap", O_RDONLY));
  WordFile pagemap(opened);
  std::vector<uint64_t> entries(kEntriesOfARead);
  for (size_t i = 0; i < uses.size(); ++i) {
    if (uses[i].mapping.kind == MappingKind::kDevice) continue;
    uint64_t at = uses[i].mapping.start / kPage, end = uses[i].mapping.end / kPage;
    while (at < end) {
      ssize_t got =
          pagemap.read(std::span(entries).first(std::min<uint64_t>(entries.size(), end - at)), at);
      if (got < 0) return process.whyNothing("pagemap", errno);
      if (got == 0) break;
      visit(i, std::span(entries).first(static_cast<size_t>(got)));
      at += static_cast<uint64_t>(got);
    }
  }
  return base::okStatus();
}

}  // namespace tidegauge::wss
