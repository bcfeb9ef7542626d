#if defined(__SANITIZE_THREAD__)
#define BOOST_ASIO_DISABLE_FENCED_BLOCK
#endif

#include "server/http/http_push.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <condition_variable>
#include <mutex>
#include <random>
#include <stop_token>
#include <thread>

namespace tidegauge::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint64_t kMaxAnswerBytes = 64 << 10;
constexpr seconds kLongestRetryAfter{3600};

struct Answer {
  int status = 0;     // 0: no answer
  std::string error;  // the reason
  std::optional<seconds> retry_after;
};

// One connection, one request. `stop` ends it at once.
class Attempt {
 public:
  Attempt(const HttpAddress& address, std::string_view content_type, const std::string& body)
      : address_(address) {
    bool is_ipv6 = address.host.find(':') != std::string::npos;
    std::string host = is_ipv6 ? fmt::format("[{}]", address.host) : address.host;
    request_.method(http::verb::post);
    request_.target(address.path);
    request_.version(11);
    request_.set(http::field::host, fmt::format("{}:{}", host, address.port));
    request_.set(http::field::content_type,
                 beast::string_view(content_type.data(), content_type.size()));
    request_.set(http::field::user_agent, "tidegauge");
    request_.body() = body;
    request_.prepare_payload();
    request_.keep_alive(false);
  }

  Answer run(milliseconds limit, const std::stop_token& stop) {
    std::stop_callback on_stop(stop, [this] { io_.stop(); });
    parser_.body_limit(kMaxAnswerBytes);
    stream_.expires_after(limit);
    resolver_.async_resolve(address_.host, address_.port, [this](auto error, const auto& found) {
      if (!failed(error)) connect(found);
    });
    io_.run_for(limit);
    if (!done_ && error_.empty()) error_ = "the collector did not answer in time";
    return done_ ? answer() : Answer{0, error_, {}};
  }

 private:
  bool failed(beast::error_code error) {
    if (error) error_ = error.message();
    return static_cast<bool>(error);
  }
  void connect(const asio::ip::tcp::resolver::results_type& found) {
    stream_.async_connect(found, [this](auto error, const auto&) {
      if (!failed(error)) write();
    });
  }
  void write() {
    http::async_write(stream_, request_, [this](auto error, size_t) {
      if (!failed(error)) read();
    });
  }
  void read() {
    http::async_read(stream_, buffer_, parser_, [this](auto error, size_t) {
      if (!failed(error)) done_ = true;
    });
  }
  Answer answer() {
    Answer answer;
    answer.status = static_cast<int>(parser_.get().result_int());
    auto text = parser_.get()[http::field::retry_after];
    unsigned after = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), after);
    if (error == std::errc() && end != text.data())
      answer.retry_after = std::min(seconds(after), kLongestRetryAfter);
    return answer;
  }

  const HttpAddress& address_;
  asio::io_context io_{1};
  asio::ip::tcp::resolver resolver_{io_};
  beast::tcp_stream stream_{io_};
  http::request<http::string_body> request_;
  http::response_parser<http::string_body> parser_;
  beast::flat_buffer buffer_{kMaxAnswerBytes};
  std::string error_;
  bool done_ = false;
};

}  // namespace

base::Result<HttpAddress> parseCollector(std::string_view url) {
  auto wrong = [&](std::string_view why) {
    return base::Error{base::ErrorKind::kUsage,
                       fmt::format("“{}” is not an address of a collector: {}", url, why),
                       {},
                       "Write it as http://127.0.0.1:4318"};
  };
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) return wrong("it must start with http://");
  std::string_view rest = url.substr(kScheme.size());
  HttpAddress address;
  size_t slash = rest.find('/');
  std::string_view authority = rest.substr(0, slash);
  std::string_view path = slash == std::string_view::npos ? "" : rest.substr(slash);
  address.path = path.empty() || path == "/" ? "/v1/metrics" : std::string(path);
  size_t colon = authority.rfind(':');
  if (authority.starts_with('[')) {
    size_t end = authority.find(']');
    if (end == std::string_view::npos) return wrong("a bracket is not closed");
    address.host = authority.substr(1, end - 1);
    if (colon < end) colon = std::string_view::npos;
    if (std::min(colon, authority.size()) != end + 1) return wrong("a port must start with “:”");
  } else {
    address.host = authority.substr(0, colon);
    if (address.host.find(':') != std::string::npos)
      return wrong("only an IPv6 address in brackets contains more than one “:”");
  }
  if (url.find('#') != std::string_view::npos || authority.find('?') != std::string_view::npos)
    return wrong("a path must start with “/” and contain no “#”");
  address.port = colon == std::string_view::npos ? "4318" : authority.substr(colon + 1);
  auto plain = [](unsigned char c) { return c > ' ' && c < 0x7f && c != '@'; };
  if (address.host.empty()) return wrong("it names no host");
  if (!std::all_of(url.begin(), url.end(), plain)) return wrong("it has odd characters");
  unsigned port = 0;
  auto [end, error] =
      std::from_chars(address.port.data(), address.port.data() + address.port.size(), port);
  if (error != std::errc() || end != address.port.data() + address.port.size() || port == 0 ||
      port > 65535)
    return wrong("its port is not a number from 1 to 65,535");
  return address;
}

milliseconds delayAfter(unsigned failures, double random, const PushDelays& delays,
                        std::optional<seconds> retry_after) {
  unsigned doublings = std::min(failures == 0 ? 0U : failures - 1, 30U);
  milliseconds delay = std::min(delays.first * (int64_t{1} << doublings), delays.longest);
  delay =
      milliseconds(static_cast<int64_t>(static_cast<double>(delay.count()) * (0.5 + 0.5 * random)));
  return retry_after ? std::max<milliseconds>(delay, *retry_after) : delay;
}

bool isWorthRetrying(int status) {
  return status == 0 || status == 429 || status == 502 || status == 503 || status == 504;
}

struct HttpPush::Parts {
  HttpAddress address;
  std::string content_type;
  PushDelays delays;
  std::mutex mutex;
  std::condition_variable_any news;
  std::optional<std::string> waiting;
  PushCounts counts;
  std::jthread thread;  // last: it uses all of the above, and must end first

  void work(const std::stop_token& stop) {
    std::minstd_rand random{std::random_device()()};
    std::uniform_real_distribution<double> share;
    unsigned failures = 0;
    std::unique_lock lock(mutex);
    while (news.wait(lock, stop, [this] { return waiting.has_value(); })) {
      std::string body = *std::exchange(waiting, std::nullopt);
      lock.unlock();
      Answer answer = Attempt(address, content_type, body).run(delays.answer, stop);
      lock.lock();
      if (stop.stop_requested()) return;
      if (answer.status >= 200 && answer.status < 300) {
        counts.sent += 1;
        counts.last_error.clear();
        failures = 0;
        continue;
      }
      counts.attempts_failed += 1;
      counts.last_error =
          answer.status == 0 ? answer.error : fmt::format("HTTP status {}", answer.status);
      if (!isWorthRetrying(answer.status)) {
        counts.dropped += 1;
        continue;
      }
      if (!waiting) waiting = std::move(body);  // if not, there is a newer one
      milliseconds delay = delayAfter(++failures, share(random), delays, answer.retry_after);
      news.wait_for(lock, stop, delay, [] { return false; });
    }
  }
};

HttpPush::HttpPush(HttpAddress address, std::string content_type, PushDelays delays)
    : parts_(new Parts{std::move(address), std::move(content_type), delays, {}, {}, {}, {}, {}}) {
  parts_->thread =
      std::jthread([parts = parts_.get()](const std::stop_token& stop) { parts->work(stop); });
}

HttpPush::~HttpPush() = default;

void HttpPush::offer(std::string body) {
  std::lock_guard lock(parts_->mutex);
  parts_->waiting = std::move(body);
  parts_->news.notify_one();
}

PushCounts HttpPush::counts() const {
  std::lock_guard lock(parts_->mutex);
  return parts_->counts;
}

}  // namespace tidegauge::server
