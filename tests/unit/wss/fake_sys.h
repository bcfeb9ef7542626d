// Simulated kernel files: a write to one replaces its content.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace tidegauge::wss {

class FakeSys {
 public:
  FakeSys() {
    std::string path = (std::filesystem::temp_directory_path() / "sys-XXXXXX").string();
    root_ = mkdtemp(path.data());
  }
  ~FakeSys() { std::filesystem::remove_all(root_); }
  FakeSys(const FakeSys&) = delete;
  FakeSys& operator=(const FakeSys&) = delete;

  std::string root() const { return root_; }
  std::filesystem::path at(const std::string& path) const { return root_ / path.substr(1); }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(at(path).parent_path());
    std::ofstream(at(path)) << text;
  }
  std::string read(const std::string& path) const {
    std::ifstream file(at(path));
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path root_;
};

}  // namespace tidegauge::wss
