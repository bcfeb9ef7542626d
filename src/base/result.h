// Expected failures are return values: Result<T> contains a T or an Error.
//
//   Result<Trace> trace = readSnapshot(bytes);
//   if (!trace.ok()) return trace.error();
//   use(trace.value());
//
// No exception crosses a folder; asserts are for programmer errors only.
#pragma once

#include <cassert>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace tidegauge::base {

enum class ErrorKind : uint8_t { kUsage, kUnreadable, kMissingFeature, kLimit };

// What went wrong, where, and what to do. Printed as "FILE: what (at byte N). hint".
struct Error {
  ErrorKind kind = ErrorKind::kUnreadable;
  std::string what;                     // "the pickle ends inside a string"
  std::optional<uint64_t> byte_offset;  // in the unpacked input
  std::string hint;                     // "copy the file again"; may be empty
};

struct Unit {};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return std::holds_alternative<T>(state_); }
  T& value() & {
    assert(ok());
    return *std::get_if<T>(&state_);
  }
  const T& value() const& {
    assert(ok());
    return *std::get_if<T>(&state_);
  }
  T&& value() && {
    assert(ok());
    return std::move(*std::get_if<T>(&state_));
  }
  Error& error() {
    assert(!ok());
    return *std::get_if<Error>(&state_);
  }
  const Error& error() const {
    assert(!ok());
    return *std::get_if<Error>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

using Status = Result<Unit>;
inline Status okStatus() { return Unit{}; }

}  // namespace tidegauge::base

// The project's only two macros: they return early if an operation failed.
#define TG_RETURN_IF_ERROR(expression)                    \
  do {                                                    \
    if (auto tg_status = (expression); !tg_status.ok()) { \
      return std::move(tg_status.error());                \
    }                                                     \
  } while (false)

#define TG_CONCAT_INNER(a, b) a##b
#define TG_CONCAT(a, b) TG_CONCAT_INNER(a, b)
#define TG_ASSIGN_OR_RETURN(declaration, expression) \
  TG_ASSIGN_OR_RETURN_IMPL(TG_CONCAT(tg_result_, __LINE__), declaration, expression)
#define TG_ASSIGN_OR_RETURN_IMPL(result, declaration, expression) \
  auto result = (expression);                                     \
  if (!result.ok()) return std::move(result.error());             \
  declaration = std::move(result).value()
