#include "wss/page_frames.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "wss/page_sums.h"

namespace tidegauge::wss {
namespace {

// Of an entry of pagemap.
constexpr uint64_t kPresent = uint64_t{1} << 63, kSwapped = uint64_t{1} << 62,
                   kFrameBits = (uint64_t{1} << 55) - 1;
// Of an entry of kpageflags: linux/kernel-page-flags.h.
constexpr uint64_t kDirty = 1 << 4, kAnonymous = 1 << 12, kTail = 1 << 16, kHead = 1 << 15,
                   kHugetlb = 1 << 17, kNoPage = 1 << 20, kZero = 1 << 24;
constexpr uint64_t kMostFolio = uint64_t{1} << 18;  // frames: 1 GiB
constexpr size_t kEntriesOfARead = 1 << 16;

class File {
 public:
  explicit File(int file) : file_(file) {}
  ~File() {
    if (file_ >= 0) close(file_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  // How many entries there are from `first`; negative: errno says why not.
  ssize_t read(std::span<uint64_t> entries, uint64_t first) const {
    ssize_t got = 0;
    do got = pread(file_, entries.data(), entries.size_bytes(), static_cast<off_t>(first * 8));
    while (got < 0 && errno == EINTR);
    return got < 0 ? got : got / 8;
  }

 private:
  int file_;
};

// Flags of frames, which are asked for in order, or a little back.
class FrameFlags {
 public:
  explicit FrameFlags(int file) : file_(file) {}
  uint64_t of(uint64_t frame) {
    Chunk& chunk = chunks_[frame / kFrames % chunks_.size()];
    if (chunk.number != frame / kFrames) {
      chunk.number = frame / kFrames;
      ssize_t got = file_.read(chunk.flags, chunk.number * kFrames);
      if (got < 0) error_number_ = errno;  // 0: the end of memory
      auto known = static_cast<size_t>(std::max<ssize_t>(got, 0));
      std::fill(chunk.flags.begin() + static_cast<ptrdiff_t>(known), chunk.flags.end(), kNoPage);
    }
    return chunk.flags[frame % kFrames];
  }
  int errorNumber() const { return error_number_; }  // of the last read that failed; 0: none did
  // The first frame of the folio that `frame` is in.
  uint64_t firstOf(uint64_t frame) {
    for (uint64_t back = 0; back <= std::min(frame, kMostFolio); ++back) {
      uint64_t flags = of(frame - back);
      if ((flags & kHead) != 0) return frame - back;
      if ((flags & kTail) == 0) break;  // the folio was split just now
    }
    return frame;
  }

 private:
  static constexpr uint64_t kFrames = 512;
  struct Chunk {
    uint64_t number = ~uint64_t{0};
    std::array<uint64_t, kFrames> flags{};
  };
  File file_;
  std::array<Chunk, 2> chunks_;
  int error_number_ = 0;
};

}  // namespace

base::Result<std::vector<PageFrame>> readFrames(const Process& process,
                                                std::vector<MappingUse>& uses,
                                                const std::string& flags_path) {
  TG_ASSIGN_OR_RETURN(int opened, process.openFile("pagemap", O_RDONLY));
  File pagemap(opened);
  std::vector<PageFrame> frames;
  std::vector<uint64_t> entries(kEntriesOfARead);
  bool are_hidden = false;
  for (size_t i = 0; i < uses.size(); ++i) {
    if (uses[i].mapping.kind == MappingKind::kDevice) continue;  // a driver's pages are on no list
    uint64_t at = uses[i].mapping.start / kPage, end = uses[i].mapping.end / kPage;
    while (at < end) {
      ssize_t got =
          pagemap.read(std::span(entries).first(std::min<uint64_t>(entries.size(), end - at)), at);
      if (got < 0) return process.whyNothing("pagemap", errno);
      if (got == 0) break;  // the process is gone; who asks will see
      for (uint64_t entry : std::span(entries).first(static_cast<size_t>(got))) {
        if ((entry & kPresent) != 0) {
          frames.push_back({entry & kFrameBits, static_cast<uint32_t>(i), false, false});
          are_hidden |= (entry & kFrameBits) == 0;
        } else if ((entry & kSwapped) != 0) {
          uses[i].sums.swap += kPage;
        }
      }
      at += static_cast<uint64_t>(got);
    }
  }
  if (are_hidden)
    return base::Error{base::ErrorKind::kMissingFeature,
                       fmt::format("/proc/{}/pagemap does not tell where pages are", process.pid()),
                       std::nullopt, "Run as root with CAP_SYS_ADMIN"};
  std::ranges::sort(frames, {}, &PageFrame::first);
  int flags_file = open(flags_path.c_str(), O_RDONLY | O_CLOEXEC);
  auto unreadable = [&](int error_number) {
    return base::Error{
        base::ErrorKind::kMissingFeature,
        fmt::format("{} cannot be read: {}", flags_path, std::strerror(error_number)), std::nullopt,
        "Run as root"};
  };
  if (flags_file < 0) return unreadable(errno);
  FrameFlags flags(flags_file);
  std::erase_if(frames, [&](PageFrame& frame) {
    uint64_t of_frame = flags.of(frame.first);
    if ((of_frame & kHugetlb) != 0) uses[frame.use].sums.hugetlb += kPage;
    if ((of_frame & (kHugetlb | kNoPage | kZero)) != 0) return true;
    frame.is_large = (of_frame & (kHead | kTail)) != 0;
    frame.is_written = (of_frame & (kAnonymous | kDirty)) != 0;
    if (frame.is_large) frame.first = flags.firstOf(frame.first);
    return false;
  });
  if (flags.errorNumber() != 0) return unreadable(flags.errorNumber());
  // In order they still are, unless a folio was made or split in between.
  if (!std::ranges::is_sorted(frames, {}, &PageFrame::first))
    std::ranges::sort(frames, {}, &PageFrame::first);
  return frames;
}

}  // namespace tidegauge::wss
