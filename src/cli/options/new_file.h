// A file that appears whole or not at all: written beside its place, then moved there.
//
//   NewFile file("out.html", false, "-o");
//   if (int code = file.refuse("in"); code != 0) return code;   it is there already: exit code 2
//   return file.write(text);                                    0, or kNotWritten with a line why
//
// "-" is standard output. What is no regular file (a device, a pipe) is written to as it is.
#pragma once

#include <string>
#include <string_view>

namespace tidegauge::cli {

class NewFile {
 public:
  // `option` is what named it, for hints.
  NewFile(std::string path, bool overwrite, std::string option = "-o")
      : path_(std::move(path)), overwrite_(overwrite), option_(std::move(option)) {}

  // Asked before the work begins: 2 if there is such a file, or if it is `input`, which it would
  // destroy; kNotWritten if its folder takes none. Another program may still be faster than
  // write().
  int refuse(const std::string& input) const;
  int write(std::string_view text) const;
  bool isStandardOutput() const { return path_ == "-"; }
  const std::string& path() const { return path_; }

 private:
  int existsAlready() const;
  int move(const std::string& from, const std::string& to) const;

  std::string path_;
  bool overwrite_;
  std::string option_;
};

}  // namespace tidegauge::cli
