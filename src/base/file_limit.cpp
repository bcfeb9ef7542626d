#include "base/file_limit.h"

#include <sys/resource.h>

namespace tidegauge::base {

void allowManyFiles() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace tidegauge::base
