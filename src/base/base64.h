// Bytes as text, and back.
//
//   base64("foo") == "Zm9v"   base64("f") == "Zg=="   decodedBase64("Zm9v\n") holds "foo"
//
// Cost: O(bytes). Source: RFC 4648, section 4.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/memory/byte_buffer.h"
#include "base/result.h"

namespace tidegauge::base {

// The length of base64() for this number of bytes.
constexpr size_t base64Bytes(size_t bytes) { return (bytes + 2) / 3 * 4; }
std::string base64(std::string_view bytes);

// The memory that decodedBase64() takes for a text of this length; never less than it returns.
constexpr size_t maxDecodedBytes(size_t text_bytes) { return text_bytes / 4 * 3 + 3; }
// Ends at the first "="; skips spaces and line ends. Errors (kUnreadable) have the offset of the
// character that is no digit.
Result<ByteBuffer> decodedBase64(std::string_view text);

}  // namespace tidegauge::base
