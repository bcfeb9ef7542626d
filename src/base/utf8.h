// UTF-8: texts of untrusted files are checked once, so that everything above the reader (JSON, the
// page, SQL) can rely on valid text. Python may write lone surrogates; hostile files anything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tidegauge::base {

bool isUtf8(std::string_view text);
// Each byte that is not part of a valid character becomes U+FFFD.
std::string repairedUtf8(std::string_view text);
void appendUtf8(std::string& text, uint32_t code_point);

}  // namespace tidegauge::base
