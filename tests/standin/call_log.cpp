#include "call_log.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "device.h"

namespace standin {
namespace {

void wander() {
  static const long most_us = [] {
    const char* text = getenv("FAKE_GPU_WANDER_US");
    return text != nullptr ? atol(text) : 0;
  }();
  if (most_us <= 0) return;
  thread_local uint64_t random = static_cast<uint64_t>(gettid()) * 0x9e3779b97f4a7c15u;
  random ^= random << 13, random ^= random >> 7, random ^= random << 17;
  timespec pause{0, static_cast<long>(random % static_cast<uint64_t>(most_us)) * 1000};
  nanosleep(&pause, nullptr);
}

}  // namespace

// Both outside of the driver's lock, which is taken after this and released before the end.
Call::Call(const char* function) : function_(function), planned_(plannedFailure(function)) {
  wander();
}
Call::~Call() { wander(); }

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
