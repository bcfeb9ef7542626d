#include "record/cubin/kernel_layouts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "model/launch_arguments.h"
#include "record/code/elf_file.h"

namespace tidegauge::record {
namespace {

// As nvcc names it, also with relocatable device code.
constexpr const char* kSections[] = {".nv_fatbin", "__nv_relfatbin"};
constexpr uint64_t kHeaderBytes = 16;
constexpr uint32_t kMagic = 0xba55ed50;
constexpr uint64_t kMaxContainerBytes = uint64_t{1} << 30;
constexpr uint64_t kPaddingStep = 8;
constexpr uint64_t kMaxPadding = uint64_t{1} << 20;  // then the rest is no fat binary
constexpr std::chrono::milliseconds kLookEvery{50};

// A section may have a gigabyte, so it is read container by container.
void readSection(const ElfFile& file, ElfFile::Section section, Cubins which,
                 LayoutsByName& layouts, CodeCounts& counts, const std::atomic<bool>* stop) {
  uint64_t padding = 0;
  auto goes_on = [&] { return stop == nullptr || !*stop; };
  for (uint64_t at = 0; at + kHeaderBytes <= section.size_bytes && goes_on();) {
    std::vector<uint8_t> header = file.bytesAt(section.offset + at, kHeaderBytes);
    if (header.size() < kHeaderBytes) return;
    uint32_t magic = 0;
    uint64_t size = 0;
    std::memcpy(&magic, header.data(), sizeof(magic));
    std::memcpy(&size, header.data() + 8, sizeof(size));
    bool fits = size <= std::min(kMaxContainerBytes, section.size_bytes - at - kHeaderBytes);
    if (magic != kMagic || !fits) {
      at += kPaddingStep;
      padding += kPaddingStep;
      if (padding > kMaxPadding) return;
      continue;
    }
    padding = 0;
    std::vector<uint8_t> container = file.bytesAt(section.offset + at, kHeaderBytes + size);
    FatBinaryCounts more = eachCubin(container, which, [&](std::span<const uint8_t> cubin) {
      CubinCounts kernels = addLayouts(cubin, layouts);
      counts.kernels.kernels += kernels.kernels;
      counts.kernels.damaged += kernels.damaged;
    });
    counts.code.containers += more.containers;
    counts.code.cubins += more.cubins;
    counts.code.unpacked += more.unpacked;
    counts.code.damaged += more.damaged;
    at += kHeaderBytes + size;
    at += (kPaddingStep - at % kPaddingStep) % kPaddingStep;
  }
}

}  // namespace

CubinCounts addLayouts(std::span<const uint8_t> cubin, LayoutsByName& layouts) {
  return eachKernel(cubin, [&](std::string_view name, const KernelParameters& parameters) {
    std::string text = parametersText(parameters);
    auto known = layouts.find(name);
    if (known == layouts.end())
      layouts.emplace(name, std::move(text));
    else if (known->second && *known->second != text &&
             model::parameterSizes(*known->second) != model::parameterSizes(text))
      known->second.reset();
  });
}

LayoutsByName layoutsIn(const std::string& path, Cubins which, CodeCounts* counts,
                        const std::atomic<bool>* stop) {
  LayoutsByName layouts;
  CodeCounts held;
  if (auto file = ElfFile::open(path); file.ok())
    for (const char* name : kSections)
      for (ElfFile::Section section : file.value().sections(name))
        readSection(file.value(), section, which, layouts, held, stop);
  if (counts != nullptr) *counts = held;
  return layouts;
}

std::optional<std::string> findLayout(const LayoutsByName& layouts, std::string_view name,
                                      bool is_cut) {
  if (!is_cut) {
    auto found = layouts.find(name);
    return found == layouts.end() ? std::nullopt : found->second;
  }
  auto first = layouts.lower_bound(name);
  if (first == layouts.end() || !first->first.starts_with(name)) return std::nullopt;
  auto second = std::next(first);
  bool is_only = second == layouts.end() || !second->first.starts_with(name);
  return is_only ? first->second : std::nullopt;
}

KernelLayouts::~KernelLayouts() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  news_.notify_all();
  thread_.join();
  for (const Question& question : questions_)
    if (question.descriptor >= 0) close(question.descriptor);
}

void KernelLayouts::ask(uint32_t module, int descriptor) {
  std::lock_guard lock(mutex_);
  if (!answers_.try_emplace(module).second) return;
  // The module may be forgotten before its turn comes.
  questions_.push_back({module, descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, 3)});
  news_.notify_one();
}

bool KernelLayouts::isRead(uint32_t module) {
  std::lock_guard lock(mutex_);
  auto answer = answers_.find(module);
  return answer != answers_.end() && answer->second.is_read;
}

std::optional<std::string> KernelLayouts::find(uint32_t module, std::string_view name,
                                               bool is_cut) {
  std::lock_guard lock(mutex_);
  auto answer = answers_.find(module);
  if (answer == answers_.end()) return std::nullopt;
  return findLayout(answer->second.layouts, name, is_cut);
}

bool KernelLayouts::finish(const std::function<bool()>& must_end) {
  std::unique_lock lock(mutex_);
  auto is_idle = [this] { return questions_.empty() && !busy_; };
  while (!idle_.wait_for(lock, kLookEvery, is_idle))
    if (must_end()) return false;
  return true;
}

void KernelLayouts::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    news_.wait(lock, [this] { return stop_ || !questions_.empty(); });
    if (stop_) return;
    Question question = questions_.front();
    questions_.pop_front();
    busy_ = true;
    lock.unlock();
    LayoutsByName layouts;
    if (question.descriptor >= 0) {
      layouts = layoutsIn(fmt::format("/proc/self/fd/{}", question.descriptor), Cubins::kSmallest,
                          nullptr, &stop_);
      close(question.descriptor);
    }
    lock.lock();
    answers_[question.module] = {true, std::move(layouts)};
    busy_ = false;
    if (questions_.empty()) idle_.notify_all();
  }
}

}  // namespace tidegauge::record
