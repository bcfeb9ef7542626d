#include "readers/recording/file/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <set>

namespace tidegauge::readers::recording {
namespace {

constexpr size_t kHeaderBytes = 32, kFrameHeaderBytes = 24;
constexpr size_t kSaltBytes = 8;
constexpr size_t kSaltOfHeader = 16, kSaltOfFrame = 8;
constexpr uint32_t kMagic = 0x377f0682;  // the last bit: the byte order of checksums
constexpr uint32_t kMinPageBytes = 512, kMaxPageBytes = 65536;
constexpr uint64_t kMaxFrames = uint64_t{1} << 22;

uint32_t wordAt(const uint8_t* at) {  // big-endian
  return uint32_t{at[0]} << 24 | uint32_t{at[1]} << 16 | uint32_t{at[2]} << 8 | uint32_t{at[3]};
}

template <size_t Size>
bool readAt(int file, std::array<uint8_t, Size>& bytes, uint64_t offset) {
  return pread(file, bytes.data(), Size, static_cast<off_t>(offset)) == static_cast<ssize_t>(Size);
}

}  // namespace

bool journalHolds(const std::string& path, uint32_t first_page, uint32_t last_page) {
  if (first_page > last_page) return true;
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false;
  std::array<uint8_t, kHeaderBytes> header{};
  std::set<uint32_t> open_pages, held;
  bool is_journal = readAt(file, header, 0) && (wordAt(header.data()) & ~1U) == kMagic;
  uint32_t page_bytes = is_journal ? wordAt(header.data() + 8) : 0;
  if (page_bytes < kMinPageBytes || page_bytes > kMaxPageBytes) page_bytes = 0;
  std::array<uint8_t, kFrameHeaderBytes> frame{};
  for (uint64_t i = 0; page_bytes > 0 && i < kMaxFrames; ++i) {
    uint64_t at = kHeaderBytes + i * (kFrameHeaderBytes + page_bytes);
    uint8_t last_byte = 0;
    if (!readAt(file, frame, at) ||
        pread(file, &last_byte, 1, static_cast<off_t>(at + kFrameHeaderBytes + page_bytes - 1)) !=
            1 ||
        std::memcmp(frame.data() + kSaltOfFrame, header.data() + kSaltOfHeader, kSaltBytes) != 0)
      break;
    if (uint32_t page = wordAt(frame.data()); page >= first_page && page <= last_page)
      open_pages.insert(page);
    if (wordAt(frame.data() + 4) == 0) continue;  // no commit
    held.merge(open_pages);
    open_pages.clear();
  }
  close(file);
  return held.size() == uint64_t{last_page} - first_page + 1;
}

}  // namespace tidegauge::readers::recording
