// Access control. The server only listens on loopback, but every page in the browser can reach
// loopback. So a request must name this server as its host (no DNS rebinding), contain the random
// token, and not come from another site. Behind a proxy, of which nobody knows the name, the token
// and what the browser says of the site that asks must be enough.
//
//   Host: evil.example            421        POST, Origin: http://localhost:3000     403
//   GET /wrong-token/             404        POST, Content-Type: text/plain          415
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "server/http/message.h"

namespace tidegauge::server {

enum class Reached : uint8_t { kDirectly, kThroughProxy };

class Gate {
 public:
  Gate(std::string token, uint16_t port, Reached reached = Reached::kDirectly);

  // Refuses requests for another host, with an unusual method, or from another site's page. For
  // paths without a token (/metrics).
  std::optional<Response> refuseStranger(const Request& request, std::string_view hint) const;
  // Refuses a request without access.
  std::optional<Response> refuse(const Request& request) const;
  // The path below the token, "" for the page itself. Call it for admitted requests.
  std::string_view below(std::string_view path) const;
  // "/TOKEN/"
  const std::string& root() const { return root_; }

 private:
  bool isOurHost(std::string_view host) const;
  bool comesFromElsewhere(const Request& request) const;

  std::string root_;
  std::vector<std::string> hosts_;  // accepted values of Host headers
  Reached reached_;
};

// 128 random bits from the kernel, as hex.
base::Result<std::string> randomToken();
// The time that this takes reveals nothing but the length.
bool isSameSecret(std::string_view text, std::string_view secret);
// Letters, digits, - and _; at least 4 characters.
bool isUsableToken(std::string_view token);

}  // namespace tidegauge::server
