#include "wss/process/unseen_touches.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "wss/process/descriptors.h"

namespace tidegauge::wss {
namespace {

std::optional<Toucher> toucherBehind(std::string_view target) {
  constexpr std::pair<std::string_view, Toucher> kTargets[] = {
      {"anon_inode:kvm-vm", Toucher::kKvm},        // without its processors: kvm-vcpu:0
      {"/dev/vhost-", Toucher::kVhost},            // -net, -vsock, -vdpa-0
      {"/dev/infiniband/uverbs", Toucher::kRdma},  //
      {"/dev/vfio/", Toucher::kVfio},              // /dev/vfio/vfio, groups, devices
      {"anon_inode:[io_uring]", Toucher::kIoUring}};
  for (const auto& [begin, toucher] : kTargets)
    if (target.starts_with(begin)) return toucher;
  return std::nullopt;
}

// "\t2\n    0: 0x7f00…/4096\n    1: <none>\nPollList:" has one. If the kernel gives their number
// alone, there is one as well.
bool hasBuffers(std::string_view lines) {
  size_t count_at = lines.find_first_not_of(" \t");
  if (count_at == std::string_view::npos || lines[count_at] == '0') return false;
  size_t at = lines.find('\n');
  bool lists_any = false;
  while (at != std::string_view::npos && lines.substr(at + 1).starts_with(' ')) {
    std::string_view line = lines.substr(at + 1, lines.find('\n', at + 1) - at - 1);
    if (line.find("<none>") == std::string_view::npos) return true;
    lists_any = true;
    at = lines.find('\n', at + 1);
  }
  return !lists_any;
}

// The kernel leaves these lines out while another thread uses the ring: then it may have some.
bool mayHaveBuffers(const Process& process, std::string_view descriptor) {
  constexpr int kTries = 3;
  constexpr std::string_view kLine = "\nUserBufs:";
  for (int tries = 0; tries < kTries; ++tries) {
    auto text = process.readFile(fmt::format("fdinfo/{}", descriptor).c_str());
    if (!text.ok()) return false;  // closed meanwhile
    size_t at = text.value().find(kLine);
    if (at != std::string::npos)
      return hasBuffers(std::string_view(text.value()).substr(at + kLine.size()));
  }
  return true;
}

}  // namespace

std::optional<Toucher> toucherOf(std::string_view json_name) {
  auto known = std::ranges::find(kTouchers, json_name, &ToucherName::json);
  if (known == kTouchers.end()) return std::nullopt;
  return static_cast<Toucher>(known - kTouchers.begin());
}

std::vector<Toucher> UnseenTouches::list() const {
  std::vector<Toucher> all;
  for (size_t i = 0; i < kTouchers.size(); ++i)
    if (auto one = static_cast<Toucher>(i); has(one)) all.push_back(one);
  return all;
}

UnseenTouches unseenTouchesOf(const Process& process) {
  UnseenTouches unseen;
  eachDescriptor(process, [&](const Descriptor& one) {
    auto toucher = toucherBehind(one.target);
    if (!toucher || unseen.has(*toucher)) return;
    if (*toucher != Toucher::kIoUring || mayHaveBuffers(process, one.name)) unseen.add(*toucher);
  });
  return unseen;
}

std::string unseenSentence(const UnseenTouches& unseen) {
  std::string who;
  for (Toucher one : unseen.list())
    who += fmt::format("{}{}", who.empty() ? "" : "; ", kTouchers[static_cast<size_t>(one)].words);
  if (who.empty()) return {};
  return fmt::format(
      "Not seen here: touches {}. Ref is a lower bound.{}", who,
      unseen.has(Toucher::kKvm)
          ? " For one process, --backend damon and --backend idle see those of a guest."
          : "");
}

}  // namespace tidegauge::wss
