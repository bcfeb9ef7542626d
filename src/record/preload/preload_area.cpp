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
#include "record/process/memory_files.h"

// The library, as bytes (cmake/preload.cmake).
extern "C" const unsigned char tidegauge_preload_library[];
extern "C" const unsigned char tidegauge_preload_library_end[];

namespace tidegauge::record {

base::Result<PreloadArea> PreloadArea::make(const PreloadOptions& options) {
  static_assert(static_cast<int>(FunctionGroup::kName) == PRELOAD_NAME);
  auto chunks = static_cast<uint32_t>(options.ring_bytes / PRELOAD_CHUNK_BYTES);
  uint64_t bytes = sizeof(preload_area) + uint64_t{chunks} * PRELOAD_CHUNK_BYTES;
  int library =
      libraryInMemory(kPreloadName, {tidegauge_preload_library, tidegauge_preload_library_end});
  int records = sharedMemory("tidegauge-records", bytes);
  void* mapped = MAP_FAILED;
  if (library >= 0 && records >= 0)
    mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, records, 0);
  if (mapped == MAP_FAILED) {
    int why = errno;
    if (library >= 0) close(library);
    if (records >= 0) close(records);
    return unreadable(fmt::format("no memory to share with programs: {}", std::strerror(why)));
  }
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
