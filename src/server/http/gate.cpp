#include "server/http/gate.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>

namespace tidegauge::server {
namespace {

constexpr std::string_view kHint = "Open the address that `tidegauge view` printed";

// Compares every byte, so that the time reveals nothing about the token.
bool startsWithSecret(std::string_view text, std::string_view secret) {
  unsigned difference = text.size() < secret.size();
  for (size_t i = 0; i < std::min(text.size(), secret.size()); ++i) {
    difference |= static_cast<unsigned char>(text[i] ^ secret[i]);
  }
  return difference == 0;
}

bool isJson(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return type == kJsonType;
}

}  // namespace

Gate::Gate(std::string token, uint16_t port, Reached reached)
    : root_(fmt::format("/{}/", token)),
      hosts_{fmt::format("127.0.0.1:{}", port), fmt::format("localhost:{}", port),
             fmt::format("[::1]:{}", port)},
      reached_(reached) {
  // Browsers omit the default port of http.
  if (port == 80) hosts_.insert(hosts_.end(), {"127.0.0.1", "localhost", "[::1]"});
}

bool Gate::isOurHost(std::string_view host) const {
  if (reached_ == Reached::kThroughProxy) return true;
  return std::find(hosts_.begin(), hosts_.end(), host) != hosts_.end();
}

// A browser sends where a request comes from. Following a link from another site to the page is
// allowed; nothing else is.
bool Gate::comesFromElsewhere(const Request& request) const {
  if (request.origin && reached_ == Reached::kDirectly) {
    std::string_view origin = *request.origin;
    if (!origin.starts_with("http://") || !isOurHost(origin.substr(7))) return true;
  }
  bool navigates = request.method != Method::kPost && request.fetch_mode == "navigate";
  bool from_us = request.fetch_site.empty() || request.fetch_site == "same-origin" ||
                 request.fetch_site == "none";
  return !from_us && !navigates;
}

namespace {

std::optional<Response> refuseMethod(const Request& request) {
  if (request.method != Method::kOther) return std::nullopt;
  Response response = errorResponse(405, "This server supports only GET, HEAD and POST");
  response.allow_header = true;
  return response;
}

}  // namespace

std::optional<Response> Gate::refuseStranger(const Request& request, std::string_view hint) const {
  if (request.hosts.size() != 1 || !isOurHost(request.hosts[0])) {
    return errorResponse(421, "This server accepts only the host names 127.0.0.1 and localhost",
                         hint);
  }
  if (auto refused = refuseMethod(request)) return refused;
  if (comesFromElsewhere(request)) {
    return errorResponse(403, "This request comes from another site", hint);
  }
  return std::nullopt;
}

std::optional<Response> Gate::refuse(const Request& request) const {
  if (request.hosts.size() != 1 || !isOurHost(request.hosts[0])) {
    return errorResponse(421, "This server accepts only the host names 127.0.0.1 and localhost",
                         kHint);
  }
  if (auto refused = refuseMethod(request)) return refused;
  std::string_view path = std::string_view(request.target).substr(0, request.target.find('?'));
  if (path.size() + 1 == root_.size() && startsWithSecret(fmt::format("{}/", path), root_)) {
    Response response = errorResponse(308, "The address of the page ends with a slash");
    // Relative, because a proxy may show the server below a path of its own.
    response.location = root_.substr(1);
    return response;
  }
  if (!startsWithSecret(path, root_)) {
    return errorResponse(404, "There is nothing here", kHint);
  }
  if (comesFromElsewhere(request)) {
    return errorResponse(403, "This request comes from another site", kHint);
  }
  if (request.method == Method::kPost && !isJson(request.content_type)) {
    return errorResponse(415, "The body must be application/json");
  }
  return std::nullopt;
}

std::string_view Gate::below(std::string_view path) const {
  return path.substr(std::min(path.size(), root_.size()));
}

base::Result<std::string> randomToken() {
  std::array<unsigned char, 16> bytes;
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return base::Error{
        base::ErrorKind::kMissingFeature, "The kernel does not provide random bytes", {}, {}};
  }
  std::string token;
  for (unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

bool isSameSecret(std::string_view text, std::string_view secret) {
  return text.size() == secret.size() && startsWithSecret(text, secret);
}

bool isUsableToken(std::string_view token) {
  auto usable = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_';
  };
  return token.size() >= 4 && token.size() <= 64 && std::all_of(token.begin(), token.end(), usable);
}

}  // namespace tidegauge::server
