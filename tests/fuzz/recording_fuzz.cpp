// Any bytes as a recording → openRecording: an error with words, or consistent traces.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "check_trace.h"
#include "readers/recording/open_recording.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tidegauge;
  int file = memfd_create("recording", MFD_CLOEXEC);
  fuzz::require(file >= 0);
  fuzz::require(write(file, data, size) == static_cast<ssize_t>(size));
  std::string path = "/proc/self/fd/" + std::to_string(file);
  auto traces = readers::recording::openRecording(path, {});
  close(file);
  if (!traces.ok()) {
    fuzz::require(!traces.error().what.empty());
    return 0;
  }
  fuzz::require(!traces.value().empty());
  for (const model::Trace& trace : traces.value()) fuzz::checkTrace(trace);
  return 0;
}
