#include "server/application.h"

#include <algorithm>

#include "server/compression.h"
#include "server/page.h"
#include "server/questions.h"

namespace tidegauge::server {
namespace {

constexpr std::string_view kApi = "api/";

const Route* routeTo(std::string_view path) {
  if (!path.starts_with(kApi)) return nullptr;
  std::span<const Route> all = routes();
  auto found = std::find_if(all.begin(), all.end(), [&](const Route& route) {
    return route.path == path.substr(kApi.size());
  });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

Application::Application(Session session, Gate gate)
    : session_(std::move(session)), gate_(std::move(gate)) {}

Lane Application::lane(const Request& request) const {
  if (gate_.refuse(request)) return Lane::kPicture;  // a refusal is quick
  Target target = parseTarget(request.target);
  const Route* route = routeTo(gate_.below(target.path));
  return route == nullptr ? Lane::kPicture : route->lane;
}

Response Application::answer(const Request& request, std::stop_token stop) {
  if (std::optional<Response> refused = gate_.refuse(request)) return std::move(*refused);
  Response response = answerBelow(request, std::move(stop));
  compress(request, response);
  return response;
}

Response Application::answerBelow(const Request& request, std::stop_token stop) {
  Target target = parseTarget(request.target);
  std::string_view path = gate_.below(target.path);
  if (!path.starts_with(kApi)) {
    if (request.method == Method::kPost) return errorResponse(405, "The page is read with GET");
    return pageFile(request, path);
  }
  const Route* route = routeTo(path);
  if (route == nullptr) return errorResponse(404, "There is no such question");
  Method method = request.method == Method::kHead ? Method::kGet : request.method;
  if (route->method != method) {
    Response response =
        errorResponse(405, route->method == Method::kPost ? "This question is asked with POST"
                                                          : "This question is asked with GET");
    response.allow_header = true;
    return response;
  }
  base::Result<Response> answer =
      route->answer({request, target.params, session_, std::move(stop)});
  return answer.ok() ? std::move(answer).value() : errorResponse(answer.error());
}

}  // namespace tidegauge::server
