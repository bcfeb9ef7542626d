// A file that appears whole or not at all: written beside its place, then moved there.
//
//   NewFile file("out.html", false);
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
  NewFile(std::string path, bool overwrite) : path_(std::move(path)), overwrite_(overwrite) {}

  // Asked before the work begins: 2 if there is such a file, or if it is `input`, which it would
  // destroy; kNotWritten if its folder takes none. Another program may still be faster than write().
  int refuse(const std::string& input) const;
  int write(std::string_view text) const;
  bool isStandardOutput() const { return path_ == "-"; }
  const std::string& path() const { return path_; }

 private:
  int existsAlready() const;
  int move(const std::string& from, const std::string& to) const;

  std::string path_;
  bool overwrite_;
};

}  // namespace tidegauge::cli
