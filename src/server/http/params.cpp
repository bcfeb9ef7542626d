#include "server/http/params.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace tidegauge::server {
namespace {

int hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      decoded += ' ';
    } else if (text[i] == '%' && i + 2 < text.size() && hexDigit(text[i + 1]) >= 0 &&
               hexDigit(text[i + 2]) >= 0) {
      decoded += static_cast<char>(hexDigit(text[i + 1]) * 16 + hexDigit(text[i + 2]));
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

base::Error missing(std::string_view name) {
  return {base::ErrorKind::kUsage, fmt::format("The parameter {} is missing", name), {}, {}};
}

template <class Number>
std::optional<Number> parse(const std::string& text) {
  Number value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Params Params::ofQuery(std::string_view query) {
  Params params;
  while (!query.empty()) {
    std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    size_t equals = pair.find('=');
    if (equals == std::string_view::npos) equals = pair.size();
    std::string_view value = equals < pair.size() ? pair.substr(equals + 1) : std::string_view();
    params.values_.emplace_back(decode(pair.substr(0, equals)), decode(value));
  }
  return params;
}

const std::string* Params::find(std::string_view name) const {
  for (const auto& [key, value] : values_) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::string Params::text(std::string_view name, std::string_view fallback) const {
  const std::string* value = find(name);
  return value != nullptr ? *value : std::string(fallback);
}

base::Result<double> Params::number(std::string_view name) const {
  const std::string* value = find(name);
  if (value == nullptr) return missing(name);
  std::optional<double> number = parse<double>(*value);
  if (!number || !std::isfinite(*number)) {
    return base::Error{base::ErrorKind::kUsage,
                       fmt::format("{} must be a number, not “{}”", name, *value),
                       {},
                       {}};
  }
  return *number;
}

base::Result<double> Params::number(std::string_view name, double fallback) const {
  if (find(name) == nullptr) return fallback;
  return number(name);
}

base::Result<int64_t> Params::integer(std::string_view name, int64_t least, int64_t most) const {
  const std::string* value = find(name);
  if (value == nullptr) return missing(name);
  std::optional<int64_t> number = parse<int64_t>(*value);
  if (!number || *number < least || *number > most) {
    return base::Error{
        base::ErrorKind::kUsage,
        fmt::format("{} must be a whole number from {} to {}, not “{}”", name, least, most, *value),
        {},
        {}};
  }
  return *number;
}

base::Result<int64_t> Params::integer(std::string_view name, int64_t least, int64_t most,
                                      int64_t fallback) const {
  if (find(name) == nullptr) return fallback;
  return integer(name, least, most);
}

Target parseTarget(std::string_view target) {
  size_t question = target.find('?');
  std::string_view path = target.substr(0, question);
  std::string_view query =
      question == std::string_view::npos ? std::string_view() : target.substr(question + 1);
  return {decode(path), Params::ofQuery(query)};
}

}  // namespace tidegauge::server
