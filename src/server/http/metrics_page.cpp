#include "server/http/metrics_page.h"

#include <utility>

#include "base/ascii.h"

namespace tidegauge::server {
namespace {

constexpr std::string_view kMetricsHint = "Metrics are at /metrics";

Response withoutToken() {
  Response response = errorResponse(401, "These metrics need a token",
                                    "Send “Authorization: Bearer TOKEN”, with the token of the "
                                    "file that --metrics-token names");
  response.asks_for_token = true;
  return response;
}

}  // namespace

void MetricsPage::show(std::string text) {
  std::lock_guard lock(mutex_);
  text_ = std::move(text);
}

// The name of the scheme may have capitals or not (RFC 9110, section 11.1).
bool MetricsPage::isAuthorized(std::string_view text) const {
  constexpr std::string_view kScheme = "bearer ";
  return base::lowerAscii(std::string(text.substr(0, kScheme.size()))) == kScheme &&
         isSameSecret(text.substr(kScheme.size()), token_);
}

Response MetricsPage::answer(const Request& request) const {
  if (auto refused = gate_.refuseStranger(request, kMetricsHint)) return std::move(*refused);
  if (!token_.empty() && !isAuthorized(request.authorization)) return withoutToken();
  std::string_view path = std::string_view(request.target).substr(0, request.target.find('?'));
  if (path != "/metrics") return errorResponse(404, "There is nothing here", kMetricsHint);
  if (request.method == Method::kPost) return errorResponse(405, "Read metrics with GET");
  Response response;
  response.content_type = content_type_;
  std::lock_guard lock(mutex_);
  response.body = text_;
  return response;
}

Handler MetricsPage::handler() const {
  return {[this](const Request& request, const std::stop_token&) { return answer(request); },
          [](const Request&) { return Lane::kText; }};
}

}  // namespace tidegauge::server
