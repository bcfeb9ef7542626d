// Who may ask. The server listens on loopback only, but every page in the browser can reach
// loopback: so a request must name us as its host (no DNS rebinding), know the random token, and
// must not come from another site.
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

class Gate {
 public:
  Gate(std::string token, uint16_t port);

  // The answer to who asks for another host, by an odd method, or from another site's page: for
  // what needs no token (/metrics).
  std::optional<Response> refuseStranger(const Request& request, std::string_view hint) const;
  // The answer to who may not come in.
  std::optional<Response> refuse(const Request& request) const;
  // The path below the token, "" for the page itself. Call it on requests that were let in.
  std::string_view below(std::string_view path) const;
  // "/TOKEN/"
  const std::string& root() const { return root_; }

 private:
  bool isOurHost(std::string_view host) const;
  bool comesFromElsewhere(const Request& request) const;

  std::string root_;
  std::vector<std::string> hosts_;  // as Host headers name us
};

// 128 random bits from the kernel, as hex.
base::Result<std::string> randomToken();
// Letters, digits, - and _; at least 4 characters.
bool isUsableToken(std::string_view token);

}  // namespace tidegauge::server
