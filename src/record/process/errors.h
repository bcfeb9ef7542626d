// Errors of the recorder.
#pragma once

#include <string>

#include "base/result.h"

namespace tidegauge::record {

inline base::Error unreadable(std::string what) {
  return {base::ErrorKind::kUnreadable, std::move(what), {}, {}};
}
// Caused by the machine or the user's privileges: exit code 4.
inline base::Error missing(std::string what, std::string hint) {
  return {base::ErrorKind::kMissingFeature, std::move(what), {}, std::move(hint)};
}
inline base::Error limit(std::string what) {
  return {base::ErrorKind::kLimit, std::move(what), {}, {}};
}

}  // namespace tidegauge::record
