// A file that appears complete or not at all: written beside its place, then moved there.
//
//   NewFile file("out.html", false, "-o");
//   if (int code = file.refuse("in"); code != 0) return code;   exists already: exit code 2
//   return file.write(text);                                    0, or kNotWritten and an error
//
// "-" is standard output. Other files than regular ones (a device, a pipe) are written directly.
#pragma once

#include <string>
#include <string_view>

namespace tidegauge::cli {

class NewFile {
 public:
  // `option` named the file; used in hints.
  NewFile(std::string path, bool overwrite, std::string option = "-o")
      : path_(std::move(path)), overwrite_(overwrite), option_(std::move(option)) {}

  // Checked before the work begins: 2 if the file exists, or is `input`, which it would destroy;
  // kNotWritten if its folder is not writable. Another program may still create it before write().
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
