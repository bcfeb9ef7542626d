// Opens an address in the user's browser without showing it to other users of the machine: what
// stands on a command line is theirs to read, a file of ours is not.
//
//   xdg-open /run/user/1000/tidegauge-x8Kq2a/open.html     0600, in a 0700 folder: a redirect
#pragma once

#include <string>

namespace tidegauge::cli {

class Browser {
 public:
  Browser() = default;
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;
  ~Browser() { forget(); }

  // Nothing happens without a display, or if no file can be written; `url` may need no escaping in
  // HTML.
  void open(const std::string& url);
  // Removes the file.
  void forget();

 private:
  std::string folder_;
  std::string file_;
};

}  // namespace tidegauge::cli
