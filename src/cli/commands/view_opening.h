// What `tidegauge view` says and shows while it opens files: the address, printed and opened in the
// browser once, and how far reading is.
//
//   small file   read, then announced
//   1 GB         announced after 0.1 s; the page shows a curve that grows
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text_layout.h"
#include "cli/commands/browser.h"
#include "cli/open_trace.h"
#include "cli/options/output.h"
#include "cli/options/usage.h"
#include "server/opening/opening.h"

namespace tidegauge::cli {

// The part of a path after the last slash, or how many files there are.
inline std::string announcedName(const std::vector<std::string>& paths) {
  if (paths.size() != 1) return fmt::format("{} files", paths.size());
  return paths[0] == "-" ? "standard input" : paths[0].substr(paths[0].find_last_of('/') + 1);
}

// Where the page is: printed, and opened in the browser, once. One thread makes it, and another may
// end the process meanwhile.
class Announcement {
 public:
  Announcement(std::string url, bool opens_browser)
      : url_(std::move(url)), opens_browser_(opens_browser) {}
  bool isMade() const {
    std::scoped_lock lock(mutex_);
    return made_;
  }
  // `verb`: "shows", or "opens" what is still being read. The exit code of standard output.
  int make(std::string_view verb, const std::string& names) {
    std::scoped_lock lock(mutex_);
    if (made_) return exit_code_;
    made_ = true;
    Output out;
    out.print("Tidegauge {} {} at {}\nCtrl-C stops it.\n", verb, base::printable(names), url_);
    exit_code_ = out.finish(0);
    if (exit_code_ == 0 && opens_browser_) browser_.open(url_);
    return exit_code_;
  }
  // Removes what the browser was given, and ends the process at once: threads that answer requests
  // or read a file write nothing that matters. An announcement that has begun is printed first.
  [[noreturn]] void end(int exit_code) {
    std::scoped_lock lock(mutex_);
    leave(exit_code);
  }
  // At Ctrl-C, which the announcement says stops it: then that is no failure.
  [[noreturn]] void endAtSignal(int signal, int exit_code) {
    std::scoped_lock lock(mutex_);
    leave(made_ ? exit_code : 128 + signal);
  }

 private:
  [[noreturn]] void leave(int exit_code) {
    browser_.forget();
    std::_Exit(exit_code);
  }

  std::string url_;
  bool opens_browser_;
  mutable std::mutex mutex_;
  bool made_ = false;
  int exit_code_ = 0;
  Browser browser_;
};

// Shows in the page how far reading is. A file that is read quickly is announced when it is open.
class PageOfOpening : public OpeningListener {
 public:
  PageOfOpening(server::Opening& opening, Announcement& announcement,
                const std::vector<std::string>& paths)
      : opening_(opening), announcement_(announcement), names_(announcedName(paths)) {}
  void readFile(const std::string& path) override { opening_.readFile(shownPath(path)); }
  void readBytes(uint64_t done, uint64_t total) override { opening_.readBytes(done, total); }
  bool wantsToPrint() override {
    constexpr std::chrono::milliseconds kPatience(80);
    return !announcement_.isMade() && std::chrono::steady_clock::now() - begin_ > kPatience;
  }
  void print() override { announcement_.make("opens", names_); }
  void readEvents(const readers::torch::EventChunk& chunk) override {
    opening_.readEvents(chunk.list, chunk.action, chunk.size_bytes);
  }
  void forgetEvents() override { opening_.forgetEvents(); }

 private:
  server::Opening& opening_;
  Announcement& announcement_;
  std::string names_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace tidegauge::cli
