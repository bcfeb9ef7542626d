// frag --watch: a snapshot file that is written again and again, or a recording that grows, read at
// each change.
#pragma once

#include <functional>
#include <string>

namespace tidegauge::cli {

struct WatchOptions {
  std::string path;
  size_t count = 0;         // changes until the end, the file as it is now one of them; 0: no end
  double interval_s = 0.5;  // between looks
};

struct FileRead {
  bool succeeded =
      false;  // perhaps with an exit code all the same: a limit was broken, a part is damaged
  int exit_code = 0;
};

// Calls `read` now and whenever the file has changed and then stood still between two looks, until
// `count` calls succeeded, Ctrl-C, or SIGTERM. A recording never stands still: it is read when it
// has grown, a tenth of the time at most, until nobody writes it any more. The exit code is the
// last one's: a file that cannot be read at one time may be readable at the next.
int watchFile(const WatchOptions& options, const std::function<FileRead()>& read);

}  // namespace tidegauge::cli
