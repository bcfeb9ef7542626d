#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "query/functions/functions.h"
#include "query/scan/guarded.h"

namespace tidegauge::query {
namespace {

constexpr int kMaxWidth = 1000;
constexpr size_t kMaxTrimmed = 100;  // bytes of the set of characters to cut off

std::string_view textOf(sqlite3_value* value) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  return text == nullptr ? std::string_view()
                         : std::string_view(text, static_cast<size_t>(sqlite3_value_bytes(value)));
}

// ---- printf -------------------------------------------------------------------------------------

struct FreeString {
  void operator()(char* text) const { sqlite3_free(text); }
};

// Walks over a format; SQLite's C printf does each conversion once its width and precision are
// known to be small.
class Formatter {
 public:
  Formatter(std::string_view format, sqlite3_value** values, int count)
      : format_(format), values_(values), count_(count) {}

  std::string write() {
    while (at_ < format_.size()) {
      size_t percent = std::min(format_.find('%', at_), format_.size());
      out_ += format_.substr(at_, percent - at_);
      at_ = percent + 1;
      if (percent < format_.size()) conversion();
    }
    return std::move(out_);
  }

 private:
  char peek() const { return at_ < format_.size() ? format_[at_] : '\0'; }
  sqlite3_value* next() { return used_ < count_ ? values_[used_++] : nullptr; }

  // Digits or *, -1 if there are none.
  int number() {
    if (peek() == '*') {
      ++at_;
      sqlite3_value* value = next();
      return bounded(value == nullptr ? 0 : sqlite3_value_int64(value));
    }
    int64_t digits = -1;
    while (peek() >= '0' && peek() <= '9') {
      digits = bounded(std::max<int64_t>(digits, 0) * 10 + (format_[at_++] - '0'));
    }
    return static_cast<int>(digits);
  }

  static int bounded(int64_t number) {
    if (number > kMaxWidth || number < -kMaxWidth) {
      throw std::length_error("width and precision of printf go up to 1000");
    }
    return static_cast<int>(number);
  }

  void conversion() {
    std::string flags;
    while (std::string_view("-+ #0!,").find(peek()) != std::string_view::npos && peek() != '\0') {
      flags += format_[at_++];
    }
    flags.resize(std::min<size_t>(flags.size(), 16));
    int width = number();
    if (width < -1) {
      flags += '-';
      width = -width;
    }
    int precision = -1;
    if (peek() == '.') {
      ++at_;
      precision = std::abs(std::max(number(), 0));
    }
    while (peek() == 'l') ++at_;
    std::string spec = "%" + flags;
    if (width >= 0) spec += std::to_string(width);
    if (precision >= 0) spec += fmt::format(".{}", precision);
    convert(spec, peek(), precision);
    ++at_;
  }

  template <class Value>
  void append(const std::string& spec, Value value) {
    std::unique_ptr<char, FreeString> text(sqlite3_mprintf(spec.c_str(), value));
    if (text == nullptr) throw std::bad_alloc();
    out_ += text.get();
  }

  void convert(const std::string& spec, char type, int precision) {
    constexpr std::string_view kIntegers = "diuxXo";
    constexpr std::string_view kReals = "fFeEgG";
    constexpr std::string_view kTexts = "szqQw";
    if (type == '%') {
      out_ += '%';
    } else if (type == '\0') {
      return;
    } else if (kIntegers.find(type) != std::string_view::npos) {
      sqlite3_value* value = next();
      append(spec + "ll" + type, value == nullptr ? 0 : sqlite3_value_int64(value));
    } else if (kReals.find(type) != std::string_view::npos) {
      sqlite3_value* value = next();
      append(spec + type, value == nullptr ? 0.0 : sqlite3_value_double(value));
    } else if (type == 'c') {
      sqlite3_value* value = next();
      std::string text(value == nullptr ? std::string_view() : textOf(value));
      size_t first = 1;  // of the first character
      while (first < text.size() && (text[first] & 0xc0) == 0x80) ++first;
      text.resize(std::min(first, text.size()));
      std::string repeated;  // repeated as the precision demands
      for (int i = 0; i < std::max(precision, 1); ++i) repeated += text;
      append(spec.substr(0, spec.find('.')) + "s", repeated.c_str());
    } else if (kTexts.find(type) != std::string_view::npos) {
      sqlite3_value* value = next();
      bool null = value == nullptr || sqlite3_value_type(value) == SQLITE_NULL;
      std::string text(null ? std::string_view() : textOf(value));
      bool as_null = null && (type == 'q' || type == 'Q' || type == 'w');
      append(spec + (type == 'z' ? 's' : type), as_null ? nullptr : text.c_str());
    } else {
      throw std::invalid_argument(fmt::format("printf does not know %{}", type));
    }
  }

  std::string_view format_;
  sqlite3_value** values_;
  int count_;
  int used_ = 0;
  size_t at_ = 0;
  std::string out_;
};

void format(sqlite3_context* context, int count, sqlite3_value** values) {
  if (count == 0 || sqlite3_value_type(values[0]) == SQLITE_NULL) return;
  std::string text = Formatter(textOf(values[0]), values + 1, count - 1).write();
  sqlite3_result_text64(context, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

// ---- trim ---------------------------------------------------------------------------------------

size_t characterBytes(std::string_view text, size_t begin) {
  size_t end = begin + 1;
  while (end < text.size() && (text[end] & 0xc0) == 0x80) ++end;
  return end - begin;
}

bool isIn(std::string_view set, std::string_view character) {
  for (size_t i = 0; i < set.size();) {
    size_t bytes = characterBytes(set, i);
    if (set.substr(i, bytes) == character) return true;
    i += bytes;
  }
  return false;
}

template <bool kLeft, bool kRight>
void trim(sqlite3_context* context, int count, sqlite3_value** values) {
  for (int i = 0; i < count; ++i) {
    if (sqlite3_value_type(values[i]) == SQLITE_NULL) return;
  }
  std::string_view text = textOf(values[0]);
  std::string_view set = count == 2 ? textOf(values[1]) : " ";
  if (set.size() > kMaxTrimmed) {
    throw std::length_error("trim cuts off at most 100 different bytes of characters");
  }
  while (kLeft && !text.empty()) {
    size_t bytes = characterBytes(text, 0);
    if (!isIn(set, text.substr(0, bytes))) break;
    text.remove_prefix(bytes);
  }
  while (kRight && !text.empty()) {
    size_t begin = text.size() - 1;
    while (begin > 0 && (text[begin] & 0xc0) == 0x80) --begin;
    if (!isIn(set, text.substr(begin))) break;
    text.remove_suffix(text.size() - begin);
  }
  sqlite3_result_text64(context, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

// ---- instr, replace -----------------------------------------------------------------------------
// SQLite's own compares at every position, which takes the product of both lengths; memmem is
// linear.

size_t findIn(std::string_view text, std::string_view part, size_t from) {
  const void* at = memmem(text.data() + from, text.size() - from, part.data(), part.size());
  return at == nullptr ? std::string_view::npos
                       : static_cast<size_t>(static_cast<const char*>(at) - text.data());
}

std::string_view bytesOf(sqlite3_value* value) {
  const auto* bytes = static_cast<const char*>(sqlite3_value_blob(value));
  return bytes == nullptr
             ? std::string_view("")
             : std::string_view(bytes, static_cast<size_t>(sqlite3_value_bytes(value)));
}

// Counts from 1: bytes for two blobs, else characters; 0 if not found.
void instr(sqlite3_context* context, int /*count*/, sqlite3_value** values) {
  int types[] = {sqlite3_value_type(values[0]), sqlite3_value_type(values[1])};
  if (types[0] == SQLITE_NULL || types[1] == SQLITE_NULL) return;
  bool blobs = types[0] == SQLITE_BLOB && types[1] == SQLITE_BLOB;
  std::string_view text = blobs ? bytesOf(values[0]) : textOf(values[0]);
  std::string_view part = blobs ? bytesOf(values[1]) : textOf(values[1]);
  size_t at = part.empty() ? 0 : findIn(text, part, 0);
  if (at == std::string_view::npos) return sqlite3_result_int(context, 0);
  std::string_view before = text.substr(0, at);
  auto continues = [](char c) { return (c & 0xc0) == 0x80; };
  size_t inside = blobs ? 0 : static_cast<size_t>(std::ranges::count_if(before, continues));
  sqlite3_result_int64(context, static_cast<int64_t>(at - inside) + 1);
}

void replace(sqlite3_context* context, int /*count*/, sqlite3_value** values) {
  for (int i = 0; i < 3; ++i) {
    if (sqlite3_value_type(values[i]) == SQLITE_NULL) return;
  }
  std::string_view text = textOf(values[0]);
  std::string_view part = textOf(values[1]);
  std::string_view by = textOf(values[2]);
  if (part.empty()) return sqlite3_result_value(context, values[0]);
  auto most = static_cast<size_t>(
      sqlite3_limit(sqlite3_context_db_handle(context), SQLITE_LIMIT_LENGTH, -1));
  std::string out;
  size_t done = 0;
  for (size_t at = 0; (at = findIn(text, part, done)) != std::string_view::npos;) {
    out.append(text, done, at - done).append(by);
    if (out.size() > most) return sqlite3_result_error_toobig(context);
    done = at + part.size();
  }
  out.append(text, done);
  if (out.size() > most) return sqlite3_result_error_toobig(context);
  sqlite3_result_text64(context, out.data(), out.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

}  // namespace

void registerBoundedFunctions(sqlite3* db) {
  auto scalar = [&](const char* name, int arguments, auto* function) {
    constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    sqlite3_create_function_v2(db, name, arguments, kFlags, nullptr, function, nullptr, nullptr,
                               nullptr);
  };
  scalar("printf", -1, guarded<format>);
  scalar("format", -1, guarded<format>);
  scalar("instr", 2, guarded<instr>);
  scalar("replace", 3, guarded<replace>);
  for (int arguments : {1, 2}) {
    scalar("trim", arguments, guarded<trim<true, true>>);
    scalar("ltrim", arguments, guarded<trim<true, false>>);
    scalar("rtrim", arguments, guarded<trim<false, true>>);
  }
}

}  // namespace tidegauge::query
