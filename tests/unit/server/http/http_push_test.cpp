#include "server/http/http_push.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "server/http/http_server.h"
#include "server/http/metrics_page.h"

namespace tidegauge::server {
namespace {

using std::chrono::milliseconds;

TEST(Collector, AddressesAreTakenApart) {
  auto parts = [](std::string_view url) {
    auto address = parseCollector(url);
    if (!address.ok()) return std::string("error");
    const HttpAddress& it = address.value();
    return it.host + " " + it.port + " " + it.path;
  };
  EXPECT_EQ(parts("http://127.0.0.1:9000/x/y"), "127.0.0.1 9000 /x/y");
  EXPECT_EQ(parts("http://collector"), "collector 4318 /v1/metrics");
  EXPECT_EQ(parts("http://collector:80/"), "collector 80 /v1/metrics");
  EXPECT_EQ(parts("http://[::1]:9/"), "::1 9 /v1/metrics");
  EXPECT_EQ(parts("http://[::1]"), "::1 4318 /v1/metrics");
  EXPECT_EQ(parts("http://x/y?token=1"), "x 4318 /y?token=1");
  for (const char* wrong :
       {"", "https://x", "x:1", "http://", "http://:80", "http://x:0", "http://x:99999",
        "http://x:a", "http://[::1", "http://x/a b", "http://user@x/", "http://x\r\nHost: y/",
        "http://x:80:90/", "http://::1/", "http://[::1]x:9/", "http://x?q", "http://x#y",
        "http://x/#y"})
    EXPECT_EQ(parts(wrong), "error") << wrong;
}

TEST(HttpPush, WaitsLongerAfterEachFailure) {
  PushDelays delays;
  EXPECT_EQ(delayAfter(1, 1, delays, {}), milliseconds(1000));
  EXPECT_EQ(delayAfter(1, 0, delays, {}), milliseconds(500));
  EXPECT_EQ(delayAfter(4, 1, delays, {}), milliseconds(8000));
  EXPECT_EQ(delayAfter(4'000'000, 1, delays, {}), milliseconds(60'000));
  EXPECT_EQ(delayAfter(1, 1, delays, std::chrono::seconds(30)), milliseconds(30'000));
  EXPECT_TRUE(isWorthRetrying(503) && isWorthRetrying(429) && isWorthRetrying(0));
  EXPECT_FALSE(isWorthRetrying(400) || isWorthRetrying(500) || isWorthRetrying(404));
}

// A collector that returns the given statuses, then 200.
class Collector {
 public:
  explicit Collector(std::vector<int> statuses) : statuses_(std::move(statuses)) {
    server_ = std::move(HttpServer::listen(0).value());
    thread_ = std::thread([this] {
      server_->run(
          {[this](const Request& request, const std::stop_token&) { return answer(request); },
           [](const Request&) { return Lane::kText; }});
    });
  }
  ~Collector() {
    server_->stop();
    thread_.join();
  }
  HttpAddress address() const { return {"127.0.0.1", std::to_string(server_->port()), "/v1/m"}; }
  std::vector<Request> wait(size_t count) {
    std::unique_lock lock(mutex_);
    news_.wait(lock, [&] { return seen_.size() >= count; });
    return seen_;
  }

 private:
  Response answer(const Request& request) {
    std::lock_guard lock(mutex_);
    Response response;
    if (seen_.size() < statuses_.size()) response.status = statuses_[seen_.size()];
    seen_.push_back(request);
    news_.notify_all();
    return response;
  }
  std::vector<int> statuses_;
  std::unique_ptr<HttpServer> server_;
  std::mutex mutex_;
  std::condition_variable news_;
  std::vector<Request> seen_;
  std::thread thread_;
};

PushDelays quick() { return {milliseconds(1), milliseconds(2), milliseconds(10'000)}; }

TEST(HttpPush, SendsAgainWhatACollectorCouldNotTake) {
  Collector collector({503, 429});
  HttpPush push(collector.address(), "application/x-protobuf", quick());
  push.offer(std::string("a\0b", 3));
  auto seen = collector.wait(3);
  EXPECT_EQ(seen[0].method, Method::kPost);
  EXPECT_EQ(seen[0].target, "/v1/m");
  EXPECT_EQ(seen[0].content_type, "application/x-protobuf");
  EXPECT_EQ(seen[2].body, std::string("a\0b", 3));
  while (push.counts().sent == 0) std::this_thread::yield();
  EXPECT_EQ(push.counts().attempts_failed, 2U);
  EXPECT_EQ(push.counts().last_error, "");
}

TEST(HttpPush, DropsPermanentlyRefusedBodies) {
  Collector collector({400});
  HttpPush push(collector.address(), "x/y", quick());
  push.offer("first");
  while (push.counts().dropped == 0) std::this_thread::yield();
  EXPECT_EQ(push.counts().last_error, "HTTP status 400");
  push.offer("second");
  auto seen = collector.wait(2);
  EXPECT_EQ(seen[1].body, "second");
}

TEST(HttpPush, ContinuesWithoutAListenerAndEndsAtOnce) {
  uint16_t port = HttpServer::listen(0).value()->port();  // free again
  HttpPush push({"127.0.0.1", std::to_string(port), "/"}, "x/y", quick());
  push.offer("a");
  while (push.counts().attempts_failed < 3) std::this_thread::yield();
  EXPECT_FALSE(push.counts().last_error.empty());
  EXPECT_EQ(push.counts().dropped, 0U);
}

TEST(MetricsPage, AnswersToScrapersOfThisMachineOnly) {
  MetricsPage page(9400, "text/plain");
  page.show("m 1\n");
  Request request;
  request.method = Method::kGet;
  request.target = "/metrics?x=1";
  request.hosts = {"127.0.0.1:9400"};
  EXPECT_EQ(page.answer(request).body, "m 1\n");
  EXPECT_EQ(page.answer(request).content_type, "text/plain");
  auto status = [&](auto change) {
    Request changed = request;
    change(changed);
    return page.answer(changed).status;
  };
  EXPECT_EQ(status([](Request& it) { it.hosts = {"evil.example"}; }), 421);
  EXPECT_EQ(status([](Request& it) { it.hosts = {}; }), 421);
  EXPECT_EQ(status([](Request& it) { it.origin = "http://evil.example"; }), 403);
  EXPECT_EQ(status([](Request& it) { it.fetch_site = "cross-site"; }), 403);
  EXPECT_EQ(status([](Request& it) { it.target = "/"; }), 404);
  EXPECT_EQ(status([](Request& it) { it.method = Method::kPost; }), 405);
  EXPECT_EQ(status([](Request& it) { it.method = Method::kOther; }), 405);
}

TEST(MetricsPage, WithATokenAnswersToThoseWhoSendIt) {
  MetricsPage page(9400, "text/plain", "0123456789abcdef");
  page.show("m 1\n");
  Request request;
  request.target = "/metrics";
  request.hosts = {"127.0.0.1:9400"};
  for (const char* wrong :
       {"", "Bearer", "Bearer ", "0123456789abcdef", "Bearer 0123456789abcdeg",
        "Bearer 0123456789abcdef0", "Bearer 0123456789abcde", "Basic 0123456789abcdef"}) {
    request.authorization = wrong;
    Response refused = page.answer(request);
    EXPECT_EQ(refused.status, 401) << wrong;
    EXPECT_TRUE(refused.asks_for_token) << wrong;
    EXPECT_EQ(refused.body.find("m 1"), std::string::npos) << wrong;
  }
  request.authorization = "Bearer 0123456789abcdef";
  EXPECT_EQ(page.answer(request).body, "m 1\n");
  request.origin = "http://evil.example";
  EXPECT_EQ(page.answer(request).status, 403);
}

}  // namespace
}  // namespace tidegauge::server
