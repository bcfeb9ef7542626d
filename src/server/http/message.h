// Requests and responses, independent of the transport: http_server.cpp translates, everything else
// works on these (tests and the fuzzer call it directly).
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidegauge::server {

enum class Method : uint8_t { kGet, kHead, kPost, kOther };

// The threads that answer: pictures never wait for texts, nor texts for queries.
enum class Lane : uint8_t { kPicture, kText, kQuery };

struct Request {
  Method method = Method::kGet;
  std::string target;              // "/TOKEN/api/tile?x0=0"
  std::vector<std::string> hosts;  // every Host header
  std::optional<std::string> origin;
  std::string authorization;    // "Bearer …"; empty if absent
  std::string fetch_site;       // Sec-Fetch-Site; empty if absent
  std::string fetch_mode;       // Sec-Fetch-Mode
  std::string content_type;     // of the body
  std::string accept_encoding;  // "gzip, zstd"
  std::string body;
};

inline constexpr std::string_view kJsonType = "application/json";
inline constexpr std::string_view kBinaryType = "application/octet-stream";

struct Response {
  int status = 200;
  std::string_view content_type = kJsonType;  // must outlive the response
  std::string body;
  std::string_view fixed_body{};  // instead of body: bytes that live as long as the program
  std::string_view content_encoding{};
  std::string_view cache_control = "no-store";
  std::string location{};  // of a redirect
  bool allow_header = false;
  bool asks_for_token = false;  // WWW-Authenticate: Bearer
  bool varies = false;          // by Accept-Encoding

  std::string_view bytes() const {
    return fixed_body.empty() ? std::string_view(body) : fixed_body;
  }
};

// {"error": {"what": …, "hint": …}}
Response errorResponse(int status, std::string_view what, std::string_view hint = {});
Response errorResponse(const base::Error& error);

}  // namespace tidegauge::server
