#include "wss/cache/cached_files.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "wss/pages/page_bits.h"
#include "wss/pages/pagemap.h"
#include "wss/process/descriptors.h"

namespace tidegauge::wss {
namespace {

constexpr uint64_t kMapped_bytes = uint64_t{256} << 20;  // at a time
constexpr size_t kPagesOfACall = 1024;                   // IOV_MAX

// One file at a time, in parts.
class CachedPages {
 public:
  CachedPages()
      : own_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)),
        sink_(memfd_create("pages", MFD_CLOEXEC)) {}

  // False: `visit` wants no more, or the bound is reached.
  bool each(int file, uint64_t bytes, const std::function<bool(uint64_t frame)>& visit) {
    for (uint64_t at = 0; at < bytes;) {
      off_t data = lseek(file, static_cast<off_t>(at), SEEK_DATA);
      if (data < 0) return true;  // a hole up to the end
      off_t hole = lseek(file, data, SEEK_HOLE);
      at = static_cast<uint64_t>(data) / kPage * kPage;
      uint64_t end = hole > data ? std::min(static_cast<uint64_t>(hole), bytes) : bytes;
      for (; at < end; at += kMapped_bytes)
        if (!eachOfPart(file, at, std::min(kMapped_bytes, end - at), visit)) return false;
      at = end;
    }
    return true;
  }

 private:
  bool eachOfPart(int file, uint64_t begin, uint64_t bytes,
                  const std::function<bool(uint64_t)>& visit) {
    size_t pages = (bytes + kPage - 1) / kPage;
    seen_ += pages;
    if (seen_ > kMaxFilePages) return false;
    void* at = mmap(nullptr, bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, file,
                    static_cast<off_t>(begin));
    if (at == MAP_FAILED) return true;
    madvise(at, bytes, MADV_SEQUENTIAL);
    cached_.resize(pages);
    frames_.resize(pages);
    bool wants_more = true;
    if (mincore(at, bytes, cached_.data()) == 0) {
      touchCached(static_cast<char*>(at), pages);
      ssize_t known = own_.read({frames_.data(), pages}, reinterpret_cast<uintptr_t>(at) / kPage);
      for (size_t i = 0; wants_more && i < static_cast<size_t>(std::max<ssize_t>(0, known)); ++i)
        if ((frames_[i] & kPagemapPresent) != 0) wants_more = visit(frames_[i] & kPagemapFrame);
    }
    munmap(at, bytes);
    return wants_more;
  }

  // Reads a byte of each page that is cached, so that it is in the page tables. A system call does
  // it: if the file was cut meanwhile, that fails, where a read by this program would end it.
  void touchCached(char* at, size_t pages) {
    std::vector<iovec> bytes;
    for (size_t i = 0; i <= pages; ++i) {
      if (i < pages && (cached_[i] & 1) != 0) bytes.push_back({at + i * kPage, 1});
      if (bytes.size() < kPagesOfACall && i < pages) continue;
      for (size_t done = 0; done < bytes.size();) {
        ssize_t now =
            pwritev(sink_.get(), bytes.data() + done, static_cast<int>(bytes.size() - done), 0);
        done += now > 0 ? static_cast<size_t>(now) : 1;  // else without the first of them
      }
      bytes.clear();
    }
  }

  WordFile own_, sink_;
  uint64_t seen_ = 0;
  std::vector<unsigned char> cached_;
  std::vector<uint64_t> frames_;
};

// Mapping a file of hugetlbfs would reserve huge pages for it.
bool isHugetlb(int file) {
  struct statfs about {};
  return fstatfs(file, &about) != 0 || about.f_type == HUGETLBFS_MAGIC;
}

}  // namespace

std::vector<CachedFile> eachCachedPage(const std::vector<const Process*>& processes,
                                       const std::function<bool(size_t, uint64_t)>& visit) {
  std::vector<CachedFile> files;
  std::set<std::pair<dev_t, ino_t>> seen;
  CachedPages pages;
  bool wants_more = true;
  for (const Process* process : processes)
    eachDescriptor(*process, [&](const Descriptor& one) {
      struct stat about {};
      if (!wants_more || files.size() == kMaxFiles || fstatat(one.folder, one.name, &about, 0) != 0)
        return;
      if (!S_ISREG(about.st_mode) || about.st_size <= 0) return;
      if (!seen.emplace(about.st_dev, about.st_ino).second) return;
      // Again by its descriptor, so that it is the same in whatever root the process has.
      int file = openat(one.folder, one.name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOATIME);
      if (file < 0) return;
      if (!isHugetlb(file)) {
        size_t index = files.size();
        files.push_back({std::string(one.target)});
        wants_more = pages.each(file, static_cast<uint64_t>(about.st_size),
                                [&](uint64_t frame) { return visit(index, frame); });
      }
      close(file);
    });
  return files;
}

}  // namespace tidegauge::wss
