#include "replay/allocator/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <string>
#include <vector>

namespace tidegauge::replay {
namespace {

constexpr std::array<std::string_view, 2> kWithoutEffect{"release_lock_on_cudamalloc",
                                                         "expandable_segments_handle_type"};

// Settings of pinned host memory, by name, including future ones.
bool isWithoutEffect(std::string_view key) {
  return key.starts_with("pinned_") ||
         std::ranges::find(kWithoutEffect, key) != kWithoutEffect.end();
}

// They change what is allocated, and are not simulated; the value here is their default.
struct NotSimulated {
  std::string_view key, without_effect;
};
constexpr NotSimulated kNotSimulated[] = {{"backend", "native"},
                                          {"throw_on_cudamalloc_oom", "False"},
                                          {"graph_capture_record_stream_reuse", "False"},
                                          {"expandable_segments_reserve", "0"}};

struct Pair {
  std::string key, value;  // a value in brackets includes them
};

base::Error wrong(std::string what, std::string hint) {
  return {base::ErrorKind::kUsage, std::move(what), std::nullopt, std::move(hint)};
}

// "a:1, b:[2:3,>:4]" → {a, 1}, {b, [2:3,>:4]}
base::Result<std::vector<Pair>> pairsOf(std::string_view conf) {
  std::string text;
  std::copy_if(conf.begin(), conf.end(), std::back_inserter(text),
               [](char c) { return c != ' ' && c != '\t'; });
  std::vector<Pair> pairs;
  for (size_t at = 0; at < text.size();) {
    size_t colon = text.find(':', at);
    if (colon == std::string::npos)
      return wrong(fmt::format("“{}” has no value", text.substr(at)),
                   "Write KEY:VALUE; separate several by commas");
    size_t end = colon + 1;
    int depth = 0;
    for (; end < text.size() && (depth > 0 || text[end] != ','); ++end)
      depth += text[end] == '[' ? 1 : text[end] == ']' ? -1 : 0;
    if (depth != 0)
      return wrong(fmt::format("“{}” has no end", text.substr(at)), "A list is [KEY:VALUE,…]");
    pairs.push_back({text.substr(at, colon - at), text.substr(colon + 1, end - colon - 1)});
    at = end + 1;
  }
  return pairs;
}

template <class Number>
std::optional<Number> numberOf(std::string_view text) {
  Number number{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// MiB as bytes; absent: less than `least`, or not a number.
std::optional<uint64_t> mibOf(std::string_view text, uint64_t least_mib) {
  constexpr uint64_t kMost = uint64_t{1} << 43;  // PyTorch replaces larger values by this
  auto mib = numberOf<uint64_t>(text);
  if (!mib || *mib < least_mib) return std::nullopt;
  return std::min(*mib, kMost) * kMiB;
}

std::optional<uint32_t> divisionsOf(std::string_view text) {
  auto divisions = numberOf<uint32_t>(text);
  if (!divisions || (*divisions != 0 && !std::has_single_bit(*divisions))) return std::nullopt;
  return divisions;
}

// "8", or "[256:1,512:2,>:8]": a size in MiB names its class, the first one all below it, ">" all
// above the last.
bool readDivisions(std::string_view text, std::array<uint32_t, 16>& classes) {
  if (!text.starts_with('[')) {
    auto divisions = divisionsOf(text);
    if (divisions) classes.fill(*divisions);
    return divisions.has_value();
  }
  if (!text.ends_with(']')) return false;
  text = text.substr(1, text.size() - 2);
  size_t last = 0;
  bool is_first = true;
  while (!text.empty()) {
    std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    size_t colon = item.find(':');
    if (colon == std::string_view::npos) return false;
    auto divisions = divisionsOf(item.substr(colon + 1));
    if (!divisions) return false;
    std::string_view name = item.substr(0, colon);
    if (name == ">") {
      std::fill(classes.begin() + static_cast<ptrdiff_t>(last) + 1, classes.end(), *divisions);
      continue;
    }
    auto mib = numberOf<uint64_t>(name);
    if (!mib || !std::has_single_bit(*mib)) return false;
    size_t index =
        std::min<size_t>(static_cast<size_t>(std::bit_width(*mib)) - 1, classes.size() - 1);
    std::fill(classes.begin() + static_cast<ptrdiff_t>(is_first ? 0 : index),
              classes.begin() + static_cast<ptrdiff_t>(index) + 1, *divisions);
    is_first = false;
    last = index;
  }
  return true;
}

// The error in the value, without any change; nullptr: it was applied.
const char* take(Settings& settings, const Pair& pair) {
  const auto& [key, value] = pair;
  auto set = [](auto& to, auto from) {
    if (from) to = *from;
    return from.has_value();
  };
  uint64_t large_mib = settings.large_segment_bytes / kMiB;
  auto wrongMib = [&value = value] {
    return numberOf<uint64_t>(value) ? "at least large_segment_size_mb (20)"
                                     : "a whole number of MiB, without a unit";
  };
  if (key == "max_split_size_mb")
    return set(settings.max_split_bytes, mibOf(value, large_mib)) ? nullptr : wrongMib();
  if (key == "max_non_split_rounding_mb")
    return set(settings.max_non_split_rounding_bytes, mibOf(value, large_mib)) ? nullptr
                                                                               : wrongMib();
  if (key == "roundup_power2_divisions") {
    auto divisions = settings.roundup_divisions;
    if (!readDivisions(value, divisions)) return "a power of two, or [256:1,512:2,>:4]";
    settings.roundup_divisions = divisions;
    return nullptr;
  }
  if (key == "garbage_collection_threshold") {
    auto part = numberOf<double>(value);
    if (!part || !(*part > 0 && *part < 1)) return "between 0 and 1";
    settings.gc_threshold = *part;
    return nullptr;
  }
  if (key == "per_process_memory_fraction") {
    auto part = numberOf<double>(value);
    if (!part || !(*part >= 0 && *part <= 1)) return "from 0 to 1";
    settings.fraction = part;
    return nullptr;
  }
  if (key == "expandable_segments") {
    if (value != "True" && value != "False") return "True or False";
    settings.expandable = value == "True";
    return nullptr;
  }
  return key == "large_segment_size_mb" ? nullptr : "";
}

}  // namespace

namespace {

std::string pairText(const Pair& pair) { return fmt::format("{} is “{}”", pair.key, pair.value); }
std::string written(const Pair& pair) { return pair.key + ":" + pair.value; }

std::optional<base::Error> takeLarge(Settings& settings, const Pair& pair) {
  auto bytes = mibOf(pair.value, 11);
  if (!bytes) return wrong(pairText(pair), "It must be more than 10");
  settings.large_segment_bytes = settings.max_non_split_rounding_bytes = *bytes;
  return std::nullopt;
}

std::optional<base::Error> takeAny(Settings& settings, const Pair& pair) {
  for (const NotSimulated& it : kNotSimulated) {
    if (pair.key != it.key) continue;
    if (pair.value != it.without_effect) return wrong(pairText(pair), "That is not simulated");
    settings.without_effect.push_back(written(pair));
    return std::nullopt;
  }
  if (isWithoutEffect(pair.key)) {
    settings.without_effect.push_back(written(pair));
    return std::nullopt;
  }
  const char* must = take(settings, pair);
  if (must == nullptr) return std::nullopt;
  if (*must == '\0')
    return wrong(fmt::format("the allocator has no setting “{}”", pair.key),
                 "Its settings are those of PYTORCH_CUDA_ALLOC_CONF, such as max_split_size_mb or "
                 "expandable_segments");
  return wrong(pairText(pair), fmt::format("It must be {}", must));
}

}  // namespace

base::Result<Settings> parseConf(std::string_view conf, std::span<const std::string> known) {
  Settings settings;
  TG_ASSIGN_OR_RETURN(std::vector<Pair> pairs, pairsOf(conf));
  // First, since others are checked against it.
  for (const Pair& pair : pairs)
    if (pair.key == "large_segment_size_mb")
      if (auto error = takeLarge(settings, pair)) return std::move(*error);
  for (const Pair& pair : pairs) {
    if (std::ranges::find(known, written(pair)) != known.end()) {
      settings.not_simulated.push_back(written(pair));
    } else if (auto error = takeAny(settings, pair)) {
      return std::move(*error);
    }
  }
  return settings;
}

Settings settingsIn(std::string_view conf) {
  Settings settings;
  auto pairs = pairsOf(conf);
  if (!pairs.ok()) return settings;
  for (const Pair& pair : pairs.value())
    if (pair.key == "large_segment_size_mb") (void)takeLarge(settings, pair);
  constexpr size_t kMaxKept = 100;  // a hostile file may have any number
  for (const Pair& pair : pairs.value()) {
    bool is_refused = takeAny(settings, pair).has_value();
    if (is_refused && !pair.key.empty() && settings.not_simulated.size() < kMaxKept)
      settings.not_simulated.push_back(written(pair));
    if (settings.without_effect.size() > kMaxKept) settings.without_effect.pop_back();
  }
  return settings;
}

namespace {

// One number for all, or a list of sizes in MiB: the first covers all below it, ">" all above.
std::string divisionsText(const std::array<uint32_t, 16>& classes) {
  bool is_one = std::ranges::all_of(classes, [&](uint32_t it) { return it == classes[0]; });
  if (is_one) return fmt::format("{}", classes[0]);
  size_t first = 0, last = classes.size() - 1;
  while (classes[first + 1] == classes[0]) ++first;
  while (classes[last - 1] == classes.back()) --last;
  std::string text = "[";
  for (size_t i = first; i < last; ++i)
    if (i == first || classes[i] != 0) text += fmt::format("{}:{},", uint64_t{1} << i, classes[i]);
  // ">" begins after the last named class. Up to torch 2.8 it overwrote that one, too, so the first
  // class of the tail is named with the tail's own number.
  return text + fmt::format("{}:{},>:{}]", uint64_t{1} << last, classes.back(), classes.back());
}

}  // namespace

std::string confOf(const Settings& settings, std::optional<double> known_fraction) {
  const Settings plain;
  std::vector<std::string> parts;
  auto mib = [](uint64_t bytes) { return bytes / kMiB; };
  if (settings.large_segment_bytes != plain.large_segment_bytes)
    parts.push_back(fmt::format("large_segment_size_mb:{}", mib(settings.large_segment_bytes)));
  if (settings.expandable) parts.push_back("expandable_segments:True");
  if (settings.max_split_bytes != kUnlimited)
    parts.push_back(fmt::format("max_split_size_mb:{}", mib(settings.max_split_bytes)));
  if (settings.max_non_split_rounding_bytes != settings.large_segment_bytes)
    parts.push_back(
        fmt::format("max_non_split_rounding_mb:{}", mib(settings.max_non_split_rounding_bytes)));
  if (settings.roundup_divisions != plain.roundup_divisions)
    parts.push_back("roundup_power2_divisions:" + divisionsText(settings.roundup_divisions));
  if (settings.gc_threshold > 0)
    parts.push_back(fmt::format("garbage_collection_threshold:{}", settings.gc_threshold));
  if (settings.fraction && settings.fraction != known_fraction)
    parts.push_back(fmt::format("per_process_memory_fraction:{}", *settings.fraction));
  // A recorded value that PyTorch would reject is replaced by one that it would accept.
  auto isWritten = [&, count = parts.size()](const std::string& pair) {
    std::string key = pair.substr(0, pair.find(':') + 1);
    return std::any_of(parts.begin(), parts.begin() + static_cast<ptrdiff_t>(count),
                       [&](const std::string& part) { return part.starts_with(key); });
  };
  for (const auto* others : {&settings.without_effect, &settings.not_simulated})
    for (const std::string& pair : *others)
      if (!isWritten(pair)) parts.push_back(pair);
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
  return text;
}

uint64_t Settings::roundedBytes(uint64_t request_bytes) const {
  return model::roundedByDivisions(request_bytes, roundup_divisions);
}

uint64_t Settings::segmentBytes(uint64_t rounded_bytes) const {
  if (rounded_bytes <= kSmallBytes) return kSmallSegmentBytes;
  if (rounded_bytes < kMinExactSegmentBytes) return large_segment_bytes;
  return roundUp(rounded_bytes, kSegmentStepBytes);
}

uint64_t Settings::capBytes(uint64_t device_bytes) const {
  uint64_t least = limit_bytes.value_or(kUnlimited);
  if (!fraction || (*fraction >= 1 && gc_needs_fraction_below_1)) return least;
  return std::min(least, static_cast<uint64_t>(*fraction * static_cast<double>(device_bytes)));
}

}  // namespace tidegauge::replay
