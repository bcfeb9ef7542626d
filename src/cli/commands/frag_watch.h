// frag --watch: a snapshot file that is rewritten repeatedly, or a recording that grows, read at
// each change.
#pragma once

#include <functional>
#include <string>

namespace tidegauge::cli {

struct WatchOptions {
  std::string path;
  size_t count = 0;         // number of versions to read, including the current one; 0: no end
  double interval_s = 0.5;  // between checks
};

struct FileRead {
  bool succeeded = false;  // may still have an exit code: a limit was exceeded, a part is damaged
  int exit_code = 0;
};

// Calls `read` now and whenever the file has changed and was then equal at two checks, until
// `count` calls succeeded, Ctrl-C, or SIGTERM. A recording changes all the time: it is read when it
// has grown, for at most a tenth of the time, until its writer has ended. The exit code is that of
// the last call: an unreadable file may be readable later.
int watchFile(const WatchOptions& options, const std::function<FileRead()>& read);

}  // namespace tidegauge::cli
