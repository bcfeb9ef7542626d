// ASCII letters, independent of the locale: for comparisons in SQL, searches and headers that
// ignore case.
//
//   lowerAscii("Conv2D é") == "conv2d é"
#pragma once

#include <string>
#include <string_view>

namespace tidegauge::base {

inline std::string lowerAscii(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace tidegauge::base
