#include "wss/words/json_fields.h"

#include <fmt/format.h>

#include <cmath>

namespace tidegauge::wss {
namespace {

using nlohmann::json;

const json* find(const json& of, const char* name) {
  if (!of.is_object()) return nullptr;
  auto found = of.find(name);
  return found == of.end() ? nullptr : &*found;
}

}  // namespace

bool Fields::tells(const json& of, const char* name) {
  const json* value = find(of, name);
  return value != nullptr && !value->is_null();
}

double Fields::number(const json& of, const char* name, double most) {
  const json* value = find(of, name);
  if (value == nullptr || !value->is_number())
    return wrong(fmt::format("\"{}\" is not a number", name)), 0;
  auto number = value->get<double>();
  if (!(number >= 0 && number <= most))
    return wrong(fmt::format("\"{}\" is not from 0 to {:g}", name, most)), 0;
  return number;
}

uint64_t Fields::whole(const json& of, const char* name, double most) {
  const json* value = find(of, name);
  if (value != nullptr && value->is_number_float())
    return wrong(fmt::format("\"{}\" is not a whole number", name)), 0;
  return static_cast<uint64_t>(number(of, name, most));
}

int64_t Fields::nanoseconds(const json& of, const char* name) {
  return std::llround(number(of, name, kMaxSeconds) * 1e9);
}

std::string Fields::text(const json& of, const char* name) {
  const json* value = find(of, name);
  if (value == nullptr || !value->is_string() ||
      value->get_ref<const std::string&>().size() > kMaxText)
    return wrong(fmt::format("\"{}\" is not text, or longer than {} bytes", name, kMaxText)), "";
  return value->get<std::string>();
}

bool Fields::flag(const json& of, const char* name) {
  const json* value = find(of, name);
  if (value == nullptr || !value->is_boolean())
    return wrong(fmt::format("\"{}\" is neither true nor false", name)), false;
  return value->get<bool>();
}

const json& Fields::object(const json& of, const char* name) {
  const json* value = find(of, name);
  if (value != nullptr && value->is_object()) return *value;
  wrong(fmt::format("\"{}\" is not an object", name));
  return empty_;
}

const json& Fields::list(const json& of, const char* name, size_t most) {
  const json* value = find(of, name);
  if (value == nullptr) return empty_list_;
  if (value->is_array() && value->size() <= most) return *value;
  wrong(fmt::format("\"{}\" is no list, or has more than {} members", name, most));
  return empty_list_;
}

void Fields::wrong(std::string what) {
  if (!wrong_) wrong_ = std::move(what);
}

}  // namespace tidegauge::wss
