#include "readers/torch/values/oddities.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <vector>

namespace tidegauge::readers::torch {
namespace {

constexpr size_t kMaxUnknownKeys = 64;

std::string_view nameOf(Place place) {
  constexpr std::string_view kNames[] = {"the top level", "a trace entry", "a frame",
                                         "a segment",     "a block",       "an annotation",
                                         "tidegauge",     "a named tensor"};
  return kNames[static_cast<size_t>(place)];
}

}  // namespace

void Oddities::badValue(Place place, std::string_view key, uint64_t left_out_bytes) {
  other(model::IssueKind::kBadValue,
        fmt::format("'{}' of {}{}", key, nameOf(place), left_out_bytes > 0 ? ": left out" : ""),
        left_out_bytes);
}

void Oddities::duplicateKey(Place place, Value key) {
  other(model::IssueKind::kDuplicateKey,
        fmt::format("'{}' of {}", values_.textOf(key), nameOf(place)));
}

void Oddities::missingKey(Place place, std::string_view key) {
  other(model::IssueKind::kMissingKey, fmt::format("'{}' of {}", key, nameOf(place)));
}

void Oddities::other(model::IssueKind kind, std::string detail, uint64_t bytes) {
  model::Issue issue;
  issue.kind = kind;
  issue.first_offset = offset_;
  issue.bytes = bytes;
  issue.detail = std::move(detail);
  issues_.add(std::move(issue));
}

void Oddities::unknownKey(Place place, Value key) {
  // An invalid id stands for all keys that are not strings.
  std::pair<uint8_t, uint32_t> id(static_cast<uint8_t>(place), base::StringId::kNone);
  bool full = unknown_keys_.size() >= kMaxUnknownKeys;
  if (key.isString()) {
    base::StringId known = full ? values_.strings().find(values_.textOf(key)) : values_.intern(key);
    id.second = known.value;
  }
  auto found = unknown_keys_.find(id);
  if (found == unknown_keys_.end() && !full) found = unknown_keys_.try_emplace(id).first;
  Count& count = found == unknown_keys_.end() ? more_unknown_keys_ : found->second;
  ++count.count;
  count.first_offset = std::min(count.first_offset, offset_);
}

void Oddities::moveTo(model::Issues& issues) {
  for (const model::Issue& issue : issues_.all()) issues.add(issue);
  std::vector<model::Issue> unknown;
  auto report = [&](const Count& count, std::string detail) {
    model::Issue issue;
    issue.kind = model::IssueKind::kUnknownKey;
    issue.count = count.count;
    issue.first_offset = count.first_offset;
    issue.detail = std::move(detail);
    unknown.push_back(std::move(issue));
  };
  for (const auto& [id, count] : unknown_keys_) {
    auto place = nameOf(static_cast<Place>(id.first));
    base::StringId key(id.second);
    report(count, key.valid() ? fmt::format("'{}' of {}", values_.strings().text(key), place)
                              : fmt::format("a key of {} that is not text", place));
  }
  if (more_unknown_keys_.count > 0) report(more_unknown_keys_, "further keys");
  std::sort(unknown.begin(), unknown.end(), [](const model::Issue& a, const model::Issue& b) {
    return std::tie(a.first_offset, a.detail) < std::tie(b.first_offset, b.detail);
  });
  for (model::Issue& issue : unknown) issues.add(std::move(issue));
}

}  // namespace tidegauge::readers::torch
