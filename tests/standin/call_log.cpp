#include "call_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "device.h"

namespace standin {

Call::Call(const char* function) : function_(function), planned_(plannedFailure(function)) {}

int Call::done(int code) {
  static const int file = [] {
    const char* path = getenv("FAKE_GPU_CALLS");
    return path != nullptr ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
  }();
  if (file < 0) return code;
  char line[256];
  int length =
      snprintf(line, sizeof(line),
               "%d %d %s code=%d address=0x%" PRIx64 " bytes=%" PRIu64 " handle=0x%" PRIx64 "\n",
               getpid(), gettid(), function_, code, address, bytes, handle);
  (void)!write(file, line, static_cast<size_t>(length));
  return code;
}

}  // namespace standin
