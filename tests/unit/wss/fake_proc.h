// A simulated /proc and a clock controlled by the test, so that outputs are known byte by byte.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "wss/window.h"

namespace tidegauge::wss {

class FakeProc {
 public:
  FakeProc() {
    std::string path = (std::filesystem::temp_directory_path() / "proc-XXXXXX").string();
    root_ = mkdtemp(path.data());
    std::filesystem::create_directory(root_ / "423");
    write("comm", "mysqld\n");
    write("stat", "423 (my (s) qld) S 1 423 423 0");
    write("maps", "559e00000000-559e00100000 rw-p 00000000 00:00 0 [heap]\n");
    write("statm", "256 0 0 0 0 256 0\n");
    write("clear_refs", "");
  }
  ~FakeProc() { std::filesystem::remove_all(root_); }
  FakeProc(const FakeProc&) = delete;
  FakeProc& operator=(const FakeProc&) = delete;

  std::string root() const { return root_; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(root_ / "423" / name) << text;
  }
  void remove(const std::string& name) const { std::filesystem::remove(root_ / "423" / name); }
  std::string read(const std::string& name) const {
    std::ifstream file(root_ / "423" / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path root_;
};

// One mapping with these sums, in KiB.
inline std::string smapsOf(uint64_t rss, uint64_t pss, uint64_t referenced) {
  auto line = [](const char* name, uint64_t kib) {
    return std::string(name) + ":   " + std::to_string(kib) + " kB\n";
  };
  return "559e00000000-559e00100000 rw-p 00000000 00:00 0 [heap]\n" + line("Rss", rss) +
         line("Pss", pss) + line("Referenced", referenced);
}

// Each reading of the clock takes `step_ns`; sleeps take exactly the requested time.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(int64_t step_ns) : step_ns_(step_ns) {}
  int64_t now_ns() override { return now_ns_ += step_ns_; }
  int64_t cpu_ns() override { return 0; }
  void sleep(int64_t ns) override {
    now_ns_ += ns;
    slept += 1;
    if (onSleep) onSleep();
  }
  bool isEnding() const override { return ends_after != 0 && slept >= ends_after; }

  int slept = 0, ends_after = 0;
  std::function<void()> onSleep;

 private:
  int64_t step_ns_, now_ns_ = 1'000'000'000;
};

}  // namespace tidegauge::wss
