// Standard output, checked. A full disk or a closed output is an error; a reader that went away
// (| head) ends the work quietly.
//
//   Output out;
//   out.print("{} rows\n", n);
//   return out.finish(0);      0, or kNotWritten with one line on standard error
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <stop_token>
#include <string_view>

namespace tidegauge::cli {

// Exit code: the answer could not be written.
inline constexpr int kNotWritten = 5;

class Output {
 public:
  explicit Output(std::FILE* file = stdout) : file_(file) {}
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // After a failure nothing more is written.
  void write(std::string_view text);
  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    write(fmt::format(format, std::forward<Args>(args)...));
  }
  void flush();  // for who waits for a row
  // Requested once a write failed: whoever makes rows need not make more.
  std::stop_token stop() const { return stop_.get_token(); }
  bool failed() const { return error_ != 0; }

  // Call it last. `exit_code`, or kNotWritten.
  int finish(int exit_code);

 private:
  void fail();

  std::FILE* file_;
  std::stop_source stop_;
  int error_ = 0;  // errno of the first failure
};

// A line on standard error. Nothing can be done if that fails.
void complain(std::string_view text);

// Standard streams that the caller closed are filled with dead ends, so that no file or socket that
// is opened later takes their place.
void guardStandardStreams();

// A mapped file that becomes shorter while it is read ends the process with exit code 3 and a line
// that says so, instead of a bus error: training writes its snapshots again over the old ones.
void guardAgainstShrinkingFiles();

}  // namespace tidegauge::cli
