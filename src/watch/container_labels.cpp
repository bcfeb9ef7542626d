#include "watch/container_labels.h"

#include <algorithm>

namespace tidegauge::watch {
namespace {

constexpr size_t kIdDigits = 64;
constexpr size_t kUidChars = 36;        // 8-4-4-4-12
constexpr size_t kStaticUidChars = 32;  // of a pod from a file: a hash, without hyphens

bool isHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// "cri-containerd-8d1f….scope" → "8d1f…". "crio-conmon-8d1f….scope" is a helper, not the container.
std::string idIn(std::string_view part) {
  if (part.ends_with(".scope")) part.remove_suffix(std::string_view(".scope").size());
  if (part.size() < kIdDigits) return {};
  std::string_view id = part.substr(part.size() - kIdDigits), before = part;
  before.remove_suffix(kIdDigits);
  bool stands_alone = before.empty() || (before.ends_with('-') && !before.ends_with("conmon-"));
  return stands_alone && std::ranges::all_of(id, isHex) ? std::string(id) : std::string();
}

// "kubepods-burstable-pod3f2a…_9c1d.slice" → "3f2a…-9c1d"; "pod3f2a…-9c1d" too. Some clusters have
// a prefix ("kubelet-kubepods-…").
std::string uidIn(std::string_view part) {
  if (part.ends_with(".slice")) part.remove_suffix(std::string_view(".slice").size());
  for (size_t chars : {kUidChars, kStaticUidChars}) {
    if (part.size() < chars + 3) continue;
    std::string_view before = part.substr(0, part.size() - chars);
    bool is_pod = before == "pod" ||
                  (before.find("kubepods") != std::string_view::npos && before.ends_with("-pod"));
    std::string uid(part.substr(part.size() - chars));
    std::ranges::replace(uid, '_', '-');
    bool is_uid = std::ranges::all_of(uid, [](char c) { return isHex(c) || c == '-'; });
    if (is_pod && is_uid) return uid;
  }
  return {};
}

}  // namespace

ContainerLabels containerLabelsOf(std::string_view cgroup) {
  ContainerLabels labels;
  while (!cgroup.empty()) {
    size_t slash = cgroup.find_first_of("/\n");
    std::string_view part = cgroup.substr(0, slash);
    cgroup.remove_prefix(slash == std::string_view::npos ? cgroup.size() : slash + 1);
    // The innermost: containers may run in containers.
    if (std::string uid = uidIn(part); !uid.empty()) labels.pod = std::move(uid);
    if (std::string id = idIn(part); !id.empty()) labels.container = std::move(id);
  }
  return labels;
}

}  // namespace tidegauge::watch
