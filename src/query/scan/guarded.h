// SQLite calls these functions from C: an exception must not pass through its frames. Out of memory
// and every other exception becomes SQLite's own error.
//
//   module.xFilter = guarded<onFilter>;
//   sqlite3_create_function(…, guarded<stackText>, …);
#pragma once

#include <sqlite3.h>

#include <exception>
#include <new>

namespace tidegauge::query {

template <auto kCallback>
struct Guarded;

// Callbacks that return a result code.
template <class... Args, int (*kCallback)(Args...)>
struct Guarded<kCallback> {
  static int call(Args... args) noexcept {
    try {
      return kCallback(args...);
    } catch (const std::bad_alloc&) {
      return SQLITE_NOMEM;
    } catch (...) {
      return SQLITE_ERROR;
    }
  }
};

// Functions of SQL.
template <class... Args, void (*kCallback)(sqlite3_context*, Args...)>
struct Guarded<kCallback> {
  static void call(sqlite3_context* context, Args... args) noexcept {
    try {
      kCallback(context, args...);
    } catch (const std::bad_alloc&) {
      sqlite3_result_error_nomem(context);
    } catch (const std::exception& error) {
      sqlite3_result_error(context, error.what(), -1);
    }
  }
};

template <auto kCallback>
inline constexpr auto guarded = &Guarded<kCallback>::call;

}  // namespace tidegauge::query
