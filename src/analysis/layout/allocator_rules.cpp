#include "analysis/layout/allocator_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "model/block_size.h"

namespace tidegauge::analysis {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kMinLargeBytes = 10 * kMiB;  // from this size on, a segment of its own size
constexpr uint64_t kRoundLargeBytes = 2 * kMiB;

// Where the value of `key` begins; npos if the conf does not name it.
size_t findValue(std::string_view conf, std::string_view key) {
  constexpr std::string_view kBetween = ",:[] \t\n\r";
  for (size_t at = conf.find(key); at != std::string_view::npos; at = conf.find(key, at + 1)) {
    bool begins = at == 0 || kBetween.find(conf[at - 1]) != std::string_view::npos;
    size_t value = conf.find_first_not_of(" \t\n\r", at + key.size());
    if (begins && value != std::string_view::npos && conf[value] == ':') return value + 1;
  }
  return std::string_view::npos;
}

// A number of MiB that the allocator would accept; hostile values are bounded.
std::optional<uint64_t> mebibytes(std::string_view conf, std::string_view key, double least) {
  std::optional<double> number = confNumber(conf, key);
  if (!number || !(*number >= least) || *number > 1e9) return std::nullopt;
  return static_cast<uint64_t>(*number) * kMiB;
}

}  // namespace

std::optional<double> confNumber(std::string_view conf, std::string_view key) {
  size_t at = findValue(conf, key);
  if (at == std::string_view::npos) return std::nullopt;
  at = std::min(conf.find_first_not_of(" \t\n\r", at), conf.size());
  double number = 0;
  const char* begin = conf.data() + at;
  auto [end, error] = std::from_chars(begin, conf.data() + conf.size(), number);
  if (error != std::errc() || end == begin) return std::nullopt;
  return number;
}

std::string_view confValue(std::string_view conf, std::string_view key) {
  size_t at = findValue(conf, key);
  if (at == std::string_view::npos) return {};
  std::string_view value = conf.substr(at, std::min(conf.find(',', at), conf.size()) - at);
  constexpr std::string_view kSpaces = " \t\n\r";
  size_t first = value.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return value.substr(first, value.find_last_not_of(kSpaces) + 1 - first);
}

std::vector<std::string> confItems(std::string_view conf) {
  std::vector<std::string> items(1);
  int depth = 0;
  for (char c : conf) {
    if (c == ' ') continue;
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0) {
      items.emplace_back();
    } else {
      items.back() += c;
    }
  }
  std::erase(items, std::string());
  return items;
}

std::string changedConf(std::string_view own, std::string_view change) {
  auto keyOf = [](const std::string& item) { return item.substr(0, item.find(':')); };
  std::vector<std::string> items = confItems(own);
  auto remove = [&](const std::string& key) {
    std::erase_if(items, [&](const std::string& item) { return keyOf(item) == key; });
  };
  for (const std::string& item : confItems(change)) {
    std::string key = keyOf(item);
    remove(key);
    if (item.size() <= key.size() + 1) continue;
    if (item == "expandable_segments:True") remove("max_split_size_mb");
    if (key == "max_split_size_mb") remove("expandable_segments");
    items.push_back(item);
  }
  return fmt::format("{}", fmt::join(items, ","));
}

bool confNames(std::string_view conf, std::string_view key) {
  return findValue(conf, key) != std::string_view::npos;
}

uint64_t largeSegmentBytes(const model::AllocatorSettings& settings) {
  return mebibytes(settings.conf, "large_segment_size_mb", 11).value_or(20 * kMiB);
}

AllocatorRules::AllocatorRules(const model::AllocatorSettings& settings)
    : expandable(settings.expandable_segments),
      max_split_bytes(settings.max_split_bytes),
      large_segment_bytes(largeSegmentBytes(settings)),
      gc_threshold(confNumber(settings.conf, "garbage_collection_threshold")),
      memory_fraction(confNumber(settings.conf, "per_process_memory_fraction")),
      settings_(settings) {
  uint64_t least_mib = large_segment_bytes / kMiB;
  max_non_split_rounding_bytes =
      mebibytes(settings.conf, "max_non_split_rounding_mb", static_cast<double>(least_mib))
          .value_or(large_segment_bytes);
}

bool lacksExpandable(const model::AllocatorSettings& settings) {
  return settings.present && !settings.expandable_segments &&
         confValue(settings.conf, "expandable_segments") == "True";
}

AllocatorKind allocatorOf(const model::Device& device) {
  if (!device.has_allocator) return AllocatorKind::kDriver;
  return device.kind == model::DeviceKind::kGpu ? AllocatorKind::kCaching
                                                : AllocatorKind::kPinnedHost;
}

std::string_view name(AllocatorKind kind) {
  constexpr std::string_view kNames[] = {"caching", "pinned_host", "driver"};
  return kNames[static_cast<size_t>(kind)];
}

AllocatorRules rulesOf(const model::Trace& trace) {
  AllocatorRules rules(trace.settings);
  const std::vector<model::SegmentKind>& kinds = trace.segments.kind;
  rules.expandable |=
      !trace.settings.present &&
      std::find(kinds.begin(), kinds.end(), model::SegmentKind::kExpandable) != kinds.end();
  return rules;
}

uint64_t AllocatorRules::roundedBytes(uint64_t request_bytes) const {
  return model::roundedBytes(request_bytes, settings_);
}

bool AllocatorRules::isSmall(uint64_t rounded_bytes) const {
  return rounded_bytes <= model::kSmallRequestBytes;
}

uint64_t AllocatorRules::segmentBytes(uint64_t rounded_bytes) const {
  if (isSmall(rounded_bytes)) return kSmallSegmentBytes;
  if (rounded_bytes < kMinLargeBytes) return large_segment_bytes;
  uint64_t over = rounded_bytes % kRoundLargeBytes;
  if (over == 0 || rounded_bytes > model::kMaxRequestBytes) return rounded_bytes;
  return rounded_bytes - over + kRoundLargeBytes;
}

bool AllocatorRules::allows(uint64_t rounded_bytes, uint64_t block_bytes) const {
  if (block_bytes < rounded_bytes) return false;
  if (rounded_bytes < max_split_bytes) return block_bytes < max_split_bytes;
  return block_bytes - rounded_bytes < max_non_split_rounding_bytes;
}

uint64_t AllocatorRules::largestRequest(uint64_t block_bytes) const {
  if (roundedBytes(1) > block_bytes) return 0;
  uint64_t fits = 1;
  uint64_t too_large = std::min(block_bytes, model::kMaxRequestBytes) + 1;
  while (too_large - fits > 1) {  // rounding never decreases with the request
    uint64_t middle = fits + (too_large - fits) / 2;
    (roundedBytes(middle) <= block_bytes ? fits : too_large) = middle;
  }
  return fits;
}

}  // namespace tidegauge::analysis
