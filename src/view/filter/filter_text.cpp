// Parses the text of a filter into terms.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/ascii.h"
#include "view/filter/filter.h"
#include "view/filter/search_words.h"

namespace tidegauge::view {
namespace {

enum class Values : uint8_t { kNumbers, kProvenances, kCategories, kBytes, kSteps, kText };

struct KeyInfo {
  std::string_view name;
  FilterKey key;
  Values values;
};
constexpr std::array<KeyInfo, 17> kKeys = {
    {{"device", FilterKey::kDevice, Values::kNumbers},
     {"stream", FilterKey::kStream, Values::kNumbers},
     {"pool", FilterKey::kPool, Values::kNumbers},
     {"provenance", FilterKey::kProvenance, Values::kProvenances},
     {"category", FilterKey::kCategory, Values::kCategories},
     {"size", FilterKey::kSize, Values::kBytes},
     {"requested", FilterKey::kRequested, Values::kBytes},
     {"life", FilterKey::kLife, Values::kSteps},
     {"born", FilterKey::kBorn, Values::kSteps},
     {"freed", FilterKey::kFreed, Values::kSteps},
     {"live", FilterKey::kLive, Values::kNumbers},
     {"stack", FilterKey::kStack, Values::kText},
     {"phase", FilterKey::kPhase, Values::kText},
     {"frame", FilterKey::kFrame, Values::kNumbers},
     {"stack_id", FilterKey::kStackId, Values::kNumbers},
     {"segment", FilterKey::kSegment, Values::kNumbers},
     {"id", FilterKey::kId, Values::kNumbers}}};

base::Error badFilter(std::string what, std::string hint) {
  return {base::ErrorKind::kUsage, std::move(what), {}, std::move(hint)};
}

std::vector<std::string_view> splitAtCommas(std::string_view text) {
  std::vector<std::string_view> members;
  while (true) {
    size_t comma = text.find(',');
    members.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return members;
    text.remove_prefix(comma + 1);
  }
}

std::optional<int64_t> numberOf(std::string_view text) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// ">1MiB", "=4096" or "1MiB..2MiB"; either end may be omitted.
bool parseRange(std::string_view text, bool of_bytes, FilterTerm& term) {
  auto valueOf = [&](std::string_view part) -> std::optional<uint64_t> {
    if (of_bytes) return bytesOf(part);
    std::optional<int64_t> number = numberOf(part);
    if (!number || *number < 0) return std::nullopt;
    return static_cast<uint64_t>(*number);
  };
  size_t dots = text.find("..");
  if (dots != std::string_view::npos) {
    std::string_view least = text.substr(0, dots);
    std::string_view most = text.substr(dots + 2);
    if (least.empty() && most.empty()) return false;
    std::optional<uint64_t> from = least.empty() ? 0 : valueOf(least);
    std::optional<uint64_t> to = most.empty() ? UINT64_MAX : valueOf(most);
    if (!from || !to) return false;
    term.least = *from;
    term.most = *to;
    return true;
  }
  if (std::optional<uint64_t> exactly = valueOf(text)) {
    term.least = term.most = *exactly;
    return true;
  }
  size_t signs = std::min(text.find_first_not_of("<>="), text.size());
  if (!of_bytes && !valueOf(text.substr(signs))) return false;  // no units
  std::optional<SizeRange> range = sizeRangeOf(text);
  if (!range) return false;
  term.least = range->least_bytes;
  term.most = range->most_bytes;
  return true;
}

bool addProvenance(std::string_view word, FilterTerm& term) {
  bool found = false;
  for (int p = 0; p < 4; ++p) {
    auto provenance = static_cast<model::Provenance>(p);
    if (word != model::name(provenance) && !(word == "older" && model::isOlder(provenance))) {
      continue;
    }
    term.values.push_back(p);
    found = true;
  }
  return found;
}

base::Result<FilterTerm> termOf(std::string_view key_text, const std::string& value, bool negated) {
  auto info = std::find_if(kKeys.begin(), kKeys.end(),
                           [&](const KeyInfo& known) { return known.name == key_text; });
  if (info == kKeys.end()) {
    std::string names;
    for (const KeyInfo& known : kKeys) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
    }
    return badFilter(fmt::format("“{}” is nothing that a filter knows", key_text),
                     "It may be " + names);
  }
  FilterTerm term{.key = info->key, .negated = negated};
  auto bad = [&](std::string_view hint) {
    return badFilter(fmt::format("{}: “{}” is not usable", key_text, value), std::string(hint));
  };
  std::string lower = base::lowerAscii(value);
  switch (info->values) {
    case Values::kNumbers:
      for (std::string_view member : splitAtCommas(lower)) {
        std::optional<int64_t> number = numberOf(member);
        if (!number) return bad("Numbers, with commas between them");
        term.values.push_back(*number);
      }
      break;
    case Values::kProvenances:
      for (std::string_view member : splitAtCommas(lower)) {
        if (!addProvenance(member, term)) {
          return bad("It may be traced, before_recording, lost, ghost or older");
        }
      }
      break;
    case Values::kCategories:
      for (std::string_view member : splitAtCommas(lower)) {
        std::optional<analysis::Category> category = analysis::categoryByName(member);
        if (!category)
          return bad(
              "It may be parameters, activations, attention, norm, logits, "
              "communication, optimizer, gradients, unknown or other");
        term.values.push_back(static_cast<int64_t>(*category));
      }
      break;
    case Values::kBytes:
      if (!parseRange(lower, true, term)) return bad("As in >1MiB, =4096 or 1MiB..2MiB");
      break;
    case Values::kSteps:
      if (!parseRange(lower, false, term)) return bad("Steps, as in >100, =5 or 10..20");
      break;
    case Values::kText: {
      TG_ASSIGN_OR_RETURN(analysis::TextPattern pattern, analysis::TextPattern::compile(value));
      term.text = std::make_shared<analysis::TextPattern>(std::move(pattern));
      break;
    }
  }
  return term;
}

// Up to the next space outside quotes; the quotes are removed.
std::string takeWord(std::string_view& rest) {
  std::string word;
  bool quoted = false;
  size_t i = 0;
  for (; i < rest.size() && (quoted || rest[i] != ' '); ++i) {
    if (rest[i] == '"') {
      quoted = !quoted;
    } else {
      word += rest[i];
    }
  }
  rest.remove_prefix(i);
  return word;
}

}  // namespace

base::Result<Filter> parseFilter(std::string_view text) {
  if (text.size() > Filter::kMaxBytes) return badFilter("The filter is too long", "");
  Filter filter;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) return filter;
    std::string word = takeWord(text);
    bool negated = word.starts_with("-");
    if (negated) word.erase(0, 1);
    size_t colon = word.find(':');
    if (colon == std::string::npos || colon + 1 == word.size()) {
      return badFilter(fmt::format("“{}” is no term of a filter", word),
                       "Terms are written as key:value, for example size:>1MiB");
    }
    if (filter.terms.size() == Filter::kMaxTerms)
      return badFilter("The filter has too many terms", "");
    TG_ASSIGN_OR_RETURN(FilterTerm term, termOf(std::string_view(word).substr(0, colon),
                                                word.substr(colon + 1), negated));
    filter.terms.push_back(std::move(term));
  }
}

}  // namespace tidegauge::view
