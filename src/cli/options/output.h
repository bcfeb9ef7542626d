// Standard output, checked. A full disk or a closed output is an error; if the reader has closed (|
// head), the work ends quietly.
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
  void flush();  // for a reader that waits for a row
  // Requested once a write failed: then no more rows are needed.
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

// What is complained about goes to a second file as well, if the caller opened one and names its
// descriptor in TIDEGAUGE_COMPLAINTS_FD: a notebook does not show standard error. Commands that
// `record` starts inherit neither.
void copyComplaints();

// Opens the null device for standard streams that the caller closed, so that no file or socket that
// is opened later takes their place.
void guardStandardStreams();

// If a mapped file becomes shorter while it is read, the process ends with exit code 3 and an error
// instead of a bus error: training overwrites its snapshots.
void guardAgainstShrinkingFiles();

}  // namespace tidegauge::cli
