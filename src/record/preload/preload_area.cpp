#include "record/preload/preload_area.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "record/kernel/functions.h"
#include "record/process/errors.h"

// The library, as bytes (cmake/preload.cmake).
extern "C" const unsigned char tidegauge_preload_library[];
extern "C" const unsigned char tidegauge_preload_library_end[];

namespace tidegauge::record {
namespace {

bool writeAll(int file, const unsigned char* bytes, size_t size) {
  while (size > 0) {
    ssize_t written = write(file, bytes, size);
    if (written <= 0) return false;
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

}  // namespace

base::Result<PreloadArea> PreloadArea::make(const PreloadOptions& options) {
  static_assert(static_cast<int>(FunctionGroup::kName) == PRELOAD_NAME);
  int library = memfd_create(kPreloadName, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  int records = memfd_create("tidegauge-records", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  auto chunks = static_cast<uint32_t>(options.ring_bytes / PRELOAD_CHUNK_BYTES);
  uint64_t bytes = sizeof(preload_area) + uint64_t{chunks} * PRELOAD_CHUNK_BYTES;
  void* mapped = MAP_FAILED;
  if (library >= 0 && records >= 0 &&
      writeAll(library, tidegauge_preload_library,
               static_cast<size_t>(tidegauge_preload_library_end - tidegauge_preload_library)) &&
      ftruncate(records, static_cast<off_t>(bytes)) == 0 &&
      // a program that cuts it would end the recorder, and other programs
      fcntl(records, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
    mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, records, 0);
  if (mapped == MAP_FAILED) {
    int why = errno;
    if (library >= 0) close(library);
    if (records >= 0) close(records);
    return unreadable(fmt::format("no memory to share with programs: {}", std::strerror(why)));
  }
  (void)fcntl(library, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  // without this, programs of the same user may not open these files
  (void)prctl(PR_SET_DUMPABLE, 1);
  PreloadArea area(library, records, static_cast<preload_area*>(mapped), bytes, chunks);
  preload_head& head = area->head;
  head.magic = PRELOAD_MAGIC;
  head.recorder_tgid = static_cast<uint32_t>(getpid());
  head.chunks = chunks;
  head.take_stacks = options.take_stacks;
  head.launch_events = options.launch_events;
  head.walk_python = options.walk_python;
  head.next_image = 1;
  for (const WatchedFunction& function : watchedFunctions()) {
    if (function.library == Library::kFramework || head.functions == PRELOAD_FUNCTIONS) break;
    preload_function& it = area->functions[head.functions++];
    it.cookie = function.cookie;
    it.group = static_cast<uint8_t>(function.group);
    it.at_entry = function.at_entry;
  }
  return area;
}

PreloadArea::PreloadArea(PreloadArea&& other) noexcept
    : library_(std::exchange(other.library_, -1)),
      records_(std::exchange(other.records_, -1)),
      area_(std::exchange(other.area_, nullptr)),
      bytes_(other.bytes_),
      chunks_(other.chunks_) {}

PreloadArea::~PreloadArea() {
  if (area_ != nullptr) munmap(area_, bytes_);
  if (library_ >= 0) close(library_);
  if (records_ >= 0) close(records_);
}

std::vector<std::string> PreloadArea::environment() const {
  const char* before = std::getenv("LD_PRELOAD");
  std::string list = fmt::format("LD_PRELOAD=/proc/{}/fd/{}", getpid(), library_);
  if (before != nullptr && *before != '\0') list += fmt::format(":{}", before);
  return {list, fmt::format("TIDEGAUGE_PRELOAD=/proc/{}/fd/{}", getpid(), records_)};
}

}  // namespace tidegauge::record
