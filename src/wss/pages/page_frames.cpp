#include "wss/pages/page_frames.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/kernel-page-flags.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "wss/pages/page_sums.h"
#include "wss/pages/pagemap.h"

namespace tidegauge::wss {
namespace {

// Bits of an entry of kpageflags.
constexpr uint64_t kDirty = 1 << KPF_DIRTY, kAnonymous = 1 << KPF_ANON,
                   kHead = 1 << KPF_COMPOUND_HEAD, kTail = 1 << KPF_COMPOUND_TAIL,
                   kHugetlb = 1 << KPF_HUGE, kNoPage = 1 << KPF_NOPAGE, kZero = 1 << KPF_ZERO_PAGE;
constexpr uint64_t kMaxFolio = uint64_t{1} << 18;  // frames: 1 GiB

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
  // The first frame of the folio that `frame` is in. Asked in order it goes back to the one asked
  // before.
  uint64_t firstOf(uint64_t frame) {
    uint64_t first = frame;
    for (uint64_t back = 0; back <= std::min(frame, kMaxFolio); ++back) {
      uint64_t at = frame - back, flags = of(at);
      bool is_head = (flags & kHead) != 0, is_tail = (flags & kTail) != 0;
      if (is_head || (is_tail && at == before_)) first = is_head ? at : first_before_;
      if (is_head || !is_tail || at == before_) break;  // neither: the folio was split just now
    }
    before_ = frame;
    return first_before_ = first;
  }

 private:
  static constexpr uint64_t kFrames = 512;
  struct Chunk {
    uint64_t number = ~uint64_t{0};
    std::array<uint64_t, kFrames> flags{};
  };
  WordFile file_;
  std::array<Chunk, 2> chunks_;
  int error_number_ = 0;
  uint64_t before_ = ~uint64_t{0}, first_before_ = 0;  // the last one asked, and its first
};

}  // namespace

base::Result<std::vector<PageFrame>> readFrames(const Process& process,
                                                std::vector<MappingUse>& uses,
                                                const std::string& flags_path) {
  std::vector<PageFrame> frames;
  bool are_hidden = false;
  TG_RETURN_IF_ERROR(readPagemap(process, uses, [&](size_t i, std::span<const uint64_t> entries) {
    for (uint64_t entry : entries) {
      if ((entry & kPagemapPresent) != 0) {
        uint64_t number = entry & kPagemapFrame;
        frames.push_back({.first = number, .number = number, .use = static_cast<uint32_t>(i)});
        are_hidden |= (entry & kPagemapFrame) == 0;
      } else if ((entry & kPagemapSwapped) != 0) {
        uses[i].sums.swap += kPage;
      }
    }
  }));
  if (are_hidden)
    return base::Error{base::ErrorKind::kMissingFeature,
                       fmt::format("/proc/{}/pagemap does not show where pages are", process.pid()),
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
