// ThreadSanitizer does not support fences; Asio's queues synchronise by their mutexes anyway.
#if defined(__SANITIZE_THREAD__)
#define BOOST_ASIO_DISABLE_FENCED_BLOCK
#endif

#include "server/http/http_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <optional>
#include <thread>

namespace tidegauge::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using std::chrono::seconds;

constexpr uint32_t kMaxHeaderBytes = 16 << 10;
constexpr uint64_t kMaxBodyBytes = 1 << 20;
constexpr size_t kMaxConnections = 256;
constexpr seconds kIdle{75};     // between requests of a connection that is kept
constexpr seconds kReading{10};  // from the first byte of a request to its last
constexpr seconds kWriting{60};

constexpr std::string_view kContentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'";
constexpr std::string_view kNoFrames = "; frame-ancestors 'none'";

using Parser = http::request_parser<http::string_body>;

Request translated(const Parser::value_type& message) {
  Request request;
  switch (message.method()) {
    case http::verb::get:
      request.method = Method::kGet;
      break;
    case http::verb::head:
      request.method = Method::kHead;
      break;
    case http::verb::post:
      request.method = Method::kPost;
      break;
    default:
      request.method = Method::kOther;
  }
  auto text = [](beast::string_view view) { return std::string(view.data(), view.size()); };
  request.target = text(message.target());
  auto [begin, end] = message.equal_range(http::field::host);
  for (auto field = begin; field != end; ++field) request.hosts.push_back(text(field->value()));
  if (message.count(http::field::origin) > 0) request.origin = text(message[http::field::origin]);
  request.authorization = text(message[http::field::authorization]);
  request.fetch_site = text(message["Sec-Fetch-Site"]);
  request.fetch_mode = text(message["Sec-Fetch-Mode"]);
  request.content_type = text(message[http::field::content_type]);
  request.accept_encoding = text(message[http::field::accept_encoding]);
  request.body = message.body();
  return request;
}

template <class Message>
void setHeaders(Message& message, const Response& response, bool may_be_framed) {
  auto set = [&](auto field, std::string_view value) {
    message.set(field, beast::string_view(value.data(), value.size()));
  };
  set(http::field::content_type, response.content_type);
  set(http::field::cache_control, response.cache_control);
  std::string policy(kContentPolicy);
  if (!may_be_framed) policy += kNoFrames;
  set("Content-Security-Policy", policy);
  set("X-Content-Type-Options", "nosniff");
  set("Cross-Origin-Opener-Policy", "same-origin");
  set("Cross-Origin-Resource-Policy", "same-origin");
  set("Referrer-Policy", "no-referrer");
  if (!response.content_encoding.empty()) {
    set(http::field::content_encoding, response.content_encoding);
  }
  if (response.varies) set(http::field::vary, "Accept-Encoding");
  if (!response.location.empty()) set(http::field::location, response.location);
  if (response.asks_for_token) set(http::field::www_authenticate, "Bearer");
  if (response.allow_header) set(http::field::allow, "GET, HEAD, POST");
}

}  // namespace

struct HttpServer::Parts {
  // Members used by connections precede io, which keeps connections alive.
  Handler handler;
  size_t connections = 0;
  std::stop_source stopping;
  asio::io_context io{1};
  tcp::acceptor acceptor{io};
  asio::steady_timer pause{io};
  asio::signal_set signals{io};
  int signal = 0;                                           // that ended it
  std::array<std::unique_ptr<asio::thread_pool>, 3> lanes;  // by Lane

  void accept();
};

namespace {

// One client. All of it runs on the I/O thread, except the handler, which only sees a copy of the
// request.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket&& socket, HttpServer::Parts& server)
      : stream_(std::move(socket)), server_(server) {
    ++server_.connections;
  }
  ~Connection() { --server_.connections; }

  // Waits for the first byte of a request without haste; then the rest must come quickly.
  void read() {
    parser_.emplace();
    parser_->header_limit(kMaxHeaderBytes);
    parser_->body_limit(kMaxBodyBytes);
    if (buffer_.size() > 0) {
      readMessage();
      return;
    }
    stream_.expires_after(kIdle);
    stream_.async_read_some(buffer_.prepare(4096),
                            [self = shared_from_this()](auto error, size_t size) {
                              if (error) return;
                              self->buffer_.commit(size);
                              self->readMessage();
                            });
  }

 private:
  void readMessage() {
    stream_.expires_after(kReading);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](auto error, size_t) { self->onRead(error); });
  }

  void onRead(beast::error_code error) {
    if (error == http::error::end_of_stream) return close();
    if (error == http::error::body_limit) {
      return refuse(errorResponse(413, "The request is too large"));
    }
    if (error == http::error::header_limit) {
      return refuse(errorResponse(431, "The request's headers are too large"));
    }
    if (error && error.category() == make_error_code(http::error::bad_method).category()) {
      return refuse(errorResponse(400, "This is not an HTTP request"));
    }
    if (error) return;  // closed, or too slow
    stream_.expires_never();
    keep_alive_ = parser_->get().keep_alive();
    version_ = parser_->get().version();
    head_only_ = parser_->get().method() == http::verb::head;
    request_ = translated(parser_->get());
    stop_ = {};
    watch();
    asio::thread_pool& pool = *server_.lanes[static_cast<size_t>(server_.handler.lane(request_))];
    asio::post(pool, [self = shared_from_this()] {
      Response response = self->answer();
      asio::post(self->stream_.get_executor(), [self, response = std::move(response)]() mutable {
        self->stopWatching();
        self->write(std::move(response));
      });
    });
  }

  // Runs on a pool thread. Any error, such as out of memory, ends only this request.
  Response answer() {
    // A page that zooms asks for more than it waits for: what has not begun is not begun.
    if (stop_.stop_requested()) return errorResponse(503, "The client closed the connection");
    try {
      return server_.handler.answer(request_, stop_.get_token());
    } catch (const std::exception& error) {
      return errorResponse(500, fmt::format("This request failed: {}", error.what()));
    }
  }

  // Watches whether the client closes the connection while the answer is computed.
  void watch() {
    watching_ = true;
    stream_.socket().async_wait(tcp::socket::wait_read, [self = shared_from_this()](auto error) {
      if (error || !self->watching_) return;
      char byte;
      beast::error_code peek_error;
      self->stream_.socket().non_blocking(true, peek_error);
      size_t size = self->stream_.socket().receive(asio::buffer(&byte, 1),
                                                   tcp::socket::message_peek, peek_error);
      if (size == 0 && peek_error != asio::error::would_block) self->stop_.request_stop();
    });
  }

  void stopWatching() {
    watching_ = false;
    beast::error_code ignored;
    stream_.socket().cancel(ignored);
  }

  void refuse(Response response) {
    keep_alive_ = false;
    write(std::move(response));
  }

  void write(Response response) {
    response_ = std::move(response);
    stream_.expires_after(kWriting);
    auto status = static_cast<http::status>(response_.status);
    std::string_view bytes = response_.bytes();
    if (head_only_) {
      head_.emplace(status, version_);
      head_->content_length(bytes.size());
      send(*head_);
    } else {
      body_.emplace(status, version_);
      body_->body() = {bytes.data(), bytes.size()};
      body_->content_length(bytes.size());
      send(*body_);
    }
  }

  template <class Message>
  void send(Message& message) {
    setHeaders(message, response_, server_.handler.may_be_framed);
    message.keep_alive(keep_alive_);
    http::async_write(stream_, message, [self = shared_from_this()](auto error, size_t) {
      if (error) return;
      if (!self->keep_alive_) return self->close();
      self->response_ = {};
      self->read();
    });
  }

  void close() {
    beast::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  }

  beast::tcp_stream stream_;
  HttpServer::Parts& server_;
  beast::flat_buffer buffer_{kMaxHeaderBytes + kMaxBodyBytes};
  std::optional<Parser> parser_;
  Request request_;
  Response response_;
  std::optional<http::response<http::empty_body>> head_;
  std::optional<http::response<http::span_body<const char>>> body_;
  std::stop_source stop_;  // of the current request
  std::stop_callback<std::function<void()>> on_server_stop_{server_.stopping.get_token(),
                                                            [this] { stop_.request_stop(); }};
  unsigned version_ = 11;
  bool keep_alive_ = true;
  bool head_only_ = false;
  bool watching_ = false;
};

}  // namespace

void HttpServer::Parts::accept() {
  acceptor.async_accept([this](beast::error_code error, tcp::socket socket) {
    if (!acceptor.is_open()) return;
    if (error) {  // for example, out of file descriptors: try again shortly
      pause.expires_after(std::chrono::milliseconds(100));
      pause.async_wait([this](beast::error_code) { accept(); });
      return;
    }
    if (connections < kMaxConnections) {
      beast::error_code ignored;
      socket.set_option(tcp::no_delay(true), ignored);
      std::make_shared<Connection>(std::move(socket), *this)->read();
    }
    accept();
  });
}

HttpServer::HttpServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
HttpServer::~HttpServer() = default;

base::Result<std::unique_ptr<HttpServer>> HttpServer::listen(uint16_t port) {
  auto parts = std::make_unique<Parts>();
  tcp::endpoint endpoint(asio::ip::address_v4::loopback(), port);
  beast::error_code error;
  auto attempt = [&](auto&& step) {
    if (!error) step();
  };
  attempt([&] { parts->acceptor.open(endpoint.protocol(), error); });
  attempt([&] { parts->acceptor.set_option(tcp::acceptor::reuse_address(true), error); });
  attempt([&] { parts->acceptor.bind(endpoint, error); });
  attempt([&] { parts->acceptor.listen(asio::socket_base::max_listen_connections, error); });
  if (error) {
    bool taken = error == asio::error::address_in_use;
    return base::Error{base::ErrorKind::kUsage,
                       taken ? fmt::format("Port {} is in use", port)
                             : fmt::format("Port {} cannot be used: {}", port, error.message()),
                       {},
                       taken ? "Choose another with --port, or leave it out for a free one" : ""};
  }
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(parts)));
}

uint16_t HttpServer::port() const {
  beast::error_code ignored;
  return parts_->acceptor.local_endpoint(ignored).port();
}

void HttpServer::serve(Handler handler) {
  size_t cores = std::max(1u, std::thread::hardware_concurrency());
  parts_->handler = std::move(handler);
  for (size_t threads : {std::clamp<size_t>(cores, 2, 4), size_t{2}, size_t{2}}) {
    auto empty = std::find(parts_->lanes.begin(), parts_->lanes.end(), nullptr);
    *empty = std::make_unique<asio::thread_pool>(threads);
  }
  parts_->accept();
  parts_->io.run();
  parts_->stopping.request_stop();
}

void HttpServer::run(Handler handler) {
  serve(std::move(handler));
  for (auto& lane : parts_->lanes) lane->join();
}

void HttpServer::stopAtSignals() {
  for (int signal : {SIGINT, SIGTERM}) {
    parts_->signals.add(signal);
    // Boost's handler (1.74) would end what any thread writes just then with EINTR.
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    action.sa_flags |= SA_RESTART;
    sigaction(signal, &action, nullptr);
  }
  parts_->signals.async_wait([this](auto error, int signal) {
    if (error) return;
    parts_->signal = signal;
    stop();
  });
}

int HttpServer::runUntilSignal(Handler handler) {
  serve(std::move(handler));
  beast::error_code ignored;
  parts_->signals.clear(ignored);  // a second Ctrl-C ends the process
  return parts_->signal;
}

void HttpServer::stop() { parts_->io.stop(); }

}  // namespace tidegauge::server
