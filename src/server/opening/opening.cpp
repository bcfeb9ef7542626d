#include "server/opening/opening.h"

#include "server/http/compression.h"
#include "server/http/json.h"
#include "server/http/page.h"

namespace tidegauge::server {
namespace {

constexpr std::string_view kApi = "api/";
constexpr std::string_view kOpening = "api/opening";

}  // namespace

void Opening::readFile(const std::string& name) {
  std::lock_guard lock(mutex_);
  name_ = name;
  ++file_;
  done_bytes_ = total_bytes_ = 0;
  curve_.clear();
}

void Opening::readBytes(uint64_t done, uint64_t total) {
  std::lock_guard lock(mutex_);
  done_bytes_ = done;
  total_bytes_ = total;
}

void Opening::readEvents(uint32_t list, std::span<const model::Action> action,
                         std::span<const uint64_t> size_bytes) {
  std::lock_guard lock(mutex_);
  if (list == 0) curve_.add(action, size_bytes);
}

void Opening::forgetEvents() {
  std::lock_guard lock(mutex_);
  curve_.clear();
}

void Opening::finish(Application& application) {
  {
    std::lock_guard lock(mutex_);
    application_ = &application;
  }
  finished_.notify_all();
}

Response Opening::progress() const {
  std::lock_guard lock(mutex_);
  if (application_ != nullptr) return jsonResponse({{"open", true}});
  return jsonResponse({{"open", false},
                       {"name", shownText(name_)},
                       {"file", file_},
                       {"files", files_},
                       {"done_bytes", done_bytes_},
                       {"total_bytes", total_bytes_},
                       {"events", curve_.steps()},
                       {"steps_per_point", curve_.stepsPerPoint()},
                       {"at_least_bytes", curve_.points()}});
}

Response Opening::answer(const Request& request, std::stop_token stop) {
  if (std::optional<Response> refused = gate_.refuse(request)) return std::move(*refused);
  Target target = parseTarget(request.target);
  std::string_view path = gate_.below(target.path);
  Response response;
  if (path == kOpening && request.method != Method::kPost) {
    response = progress();
  } else if (!path.starts_with(kApi) && request.method != Method::kPost) {
    response = pageFile(request, path);
  } else {
    std::unique_lock lock(mutex_);
    bool open = finished_.wait(lock, stop, [&] { return application_ != nullptr; });
    if (!open) return errorResponse(503, "The request was given up while files were opened");
    Application& application = *application_;
    lock.unlock();
    return application.answer(request, std::move(stop));
  }
  compress(request, response);
  return response;
}

Lane Opening::lane(const Request& request) const {
  std::unique_lock lock(mutex_);
  Application* application = application_;
  lock.unlock();
  if (application != nullptr) return application->lane(request);
  if (gate_.refuse(request)) return Lane::kPicture;
  // What waits must not keep what is answered at once.
  Target target = parseTarget(request.target);
  std::string_view path = gate_.below(target.path);
  return path.starts_with(kApi) && path != kOpening ? Lane::kText : Lane::kPicture;
}

}  // namespace tidegauge::server
