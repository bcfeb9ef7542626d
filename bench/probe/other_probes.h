// What is measured beside Tidegauge's probes: probes that do nothing, and the design of a published
// tracer (published.bpf.c), each with the links that it would use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

struct bpf_object;
struct bpf_link;
struct ring_buffer;

namespace tidegauge::bench {

// `mov r0, 0; exit` at the entry, and at the return if wanted, of functions of a file.
class EmptyProbes {
 public:
  EmptyProbes(const std::string& path, const std::vector<std::string_view>& names, bool returns);
  ~EmptyProbes();
  EmptyProbes(const EmptyProbes&) = delete;
  EmptyProbes& operator=(const EmptyProbes&) = delete;

 private:
  void attach(const std::string& path, const std::vector<uint64_t>& offsets, uint32_t flags);
  int program_ = -1;
  std::vector<int> links_;
};

// One perf link per place, at the first instruction; read as records arrive, woken for each one.
class PublishedProbes {
 public:
  struct Names {
    std::string_view allocate, release, launch;
  };
  PublishedProbes(const std::string& path, const Names& names, uint32_t pid);
  ~PublishedProbes();  // detaches
  PublishedProbes(const PublishedProbes&) = delete;
  PublishedProbes& operator=(const PublishedProbes&) = delete;

  void attachMore(const std::string& path, const std::vector<std::string_view>& names);
  void read(int timeout_ms);
  void detach();
  size_t links() const { return links_.size(); }

 private:
  void attach(const char* program, const std::string& path, uint64_t offset, bool at_return);
  bpf_object* object_ = nullptr;
  ring_buffer* rings_ = nullptr;
  uint32_t pid_ = 0;
  std::vector<bpf_link*> links_;
};

uint64_t offsetOf(const std::string& path, std::string_view name);

}  // namespace tidegauge::bench
