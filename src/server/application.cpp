#include "server/application.h"

#include <algorithm>

#include "server/http/compression.h"
#include "server/http/page.h"
#include "server/session/questions.h"

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
    : sessions_{std::make_shared<Session>(std::move(session))}, gate_(std::move(gate)) {}

std::shared_ptr<Session> Application::current() const {
  std::lock_guard lock(mutex_);
  return sessions_.front();
}

std::shared_ptr<Session> Application::replace(Session next) {
  auto newest = std::make_shared<Session>(std::move(next));
  std::lock_guard lock(mutex_);
  sessions_.push_front(std::move(newest));
  if (sessions_.size() <= kKept) return nullptr;
  std::shared_ptr<Session> oldest = std::move(sessions_.back());
  sessions_.pop_back();
  return oldest;
}

namespace {

// Without `gen`, any generation matches. An invalid number matches none.
bool hasGeneration(const Session& session, const Params& params, const char* file_name,
                   const char* name) {
  const std::string* wanted = params.find(name);
  if (wanted == nullptr) return true;
  auto most = static_cast<int64_t>(session.files.size()) - 1;
  auto file = params.integer(file_name, 0, most, 0);
  if (!file.ok()) return true;  // the handler reports the error
  return std::to_string(session.files[static_cast<size_t>(file.value())]->generation) == *wanted;
}

}  // namespace

std::shared_ptr<Session> Application::sessionOf(const Params& params,
                                                const char* generation) const {
  std::lock_guard lock(mutex_);
  for (const auto& session : sessions_) {
    if (hasGeneration(*session, params, "file", generation) &&
        hasGeneration(*session, params, "file_b", "gen_b")) {
      return session;
    }
  }
  return nullptr;
}

Lane Application::lane(const Request& request) const {
  if (gate_.refuse(request)) return Lane::kPicture;  // a refusal is fast
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
    if (request.method == Method::kPost) return errorResponse(405, "Read the page with GET");
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
  std::shared_ptr<Session> session = sessionOf(target.params, "gen");
  if (session == nullptr) {
    return errorResponse(409,
                         "The recording has grown, and this state of it is no longer available",
                         "api/session returns the current state");
  }
  std::shared_ptr<Session> before;
  if (target.params.find("from") != nullptr) before = sessionOf(target.params, "from");
  base::Result<Response> answer =
      route->answer({request, target.params, *session, std::move(stop), before.get(), this});
  return answer.ok() ? std::move(answer).value() : errorResponse(answer.error());
}

}  // namespace tidegauge::server
