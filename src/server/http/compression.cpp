#include "server/http/compression.h"

#include <zstd.h>

#include <algorithm>
#include <charconv>
#include <string>

namespace tidegauge::server {
namespace {

constexpr size_t kWorthBytes = 4096;
constexpr int kLevel = 1;  // loopback is fast: more effort costs more time than it saves

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// "q=0", "q=0.00"
bool isForbidding(std::string_view parameter) {
  parameter = trimmed(parameter);
  if (!parameter.starts_with("q=") && !parameter.starts_with("Q=")) return false;
  parameter.remove_prefix(2);
  return !parameter.empty() && parameter.find_first_not_of("0.") == std::string_view::npos;
}

}  // namespace

bool accepts(std::string_view accept_encoding, std::string_view coding) {
  while (!accept_encoding.empty()) {
    std::string_view item = accept_encoding.substr(0, accept_encoding.find(','));
    accept_encoding.remove_prefix(std::min(accept_encoding.size(), item.size() + 1));
    size_t semicolon = std::min(item.find(';'), item.size());
    if (trimmed(item.substr(0, semicolon)) != coding) continue;
    return semicolon == item.size() || !isForbidding(item.substr(semicolon + 1));
  }
  return false;
}

void compress(const Request& request, Response& response) {
  if (response.body.size() < kWorthBytes || !response.content_encoding.empty()) return;
  response.varies = true;
  if (!accepts(request.accept_encoding, "zstd")) return;
  std::string packed(ZSTD_compressBound(response.body.size()), '\0');
  size_t size = ZSTD_compress(packed.data(), packed.size(), response.body.data(),
                              response.body.size(), kLevel);
  if (ZSTD_isError(size) || size >= response.body.size()) return;
  packed.resize(size);
  response.body = std::move(packed);
  response.content_encoding = "zstd";
}

}  // namespace tidegauge::server
