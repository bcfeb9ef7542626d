// Opens an address in the user's browser without showing it to other users of the machine: they can
// read command lines, but not a private file.
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

  // Does nothing without a display, or if no file can be written. `url` must not need escaping in
  // HTML.
  void open(const std::string& url);
  // Removes the file.
  void forget();

 private:
  std::string folder_;
  std::string file_;
};

}  // namespace tidegauge::cli
