// The transport over real sockets: what a browser does, and what an attacker would.
#include "server/http/http_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

namespace tidegauge::server {
namespace {

class Socket {
 public:
  explicit Socket(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~Socket() { close(fd_); }

  void send(std::string_view text) {
    // The server may have hung up already.
    (void)!::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
  }
  // Reads until the text contains `wanted`, or the connection ends.
  std::string readUntil(std::string_view wanted) {
    std::string text;
    char buffer[65536];
    while (text.find(wanted) == std::string::npos) {
      pollfd waiting{fd_, POLLIN, 0};
      if (poll(&waiting, 1, 20'000) <= 0) break;
      ssize_t size = recv(fd_, buffer, sizeof buffer, 0);
      if (size <= 0) break;
      text.append(buffer, static_cast<size_t>(size));
    }
    return text;
  }
  std::string readAll() { return readUntil(std::string(1, '\0') + "never"); }

 private:
  int fd_;
};

class HttpServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto listening = HttpServer::listen(0);
    ASSERT_TRUE(listening.ok());
    server_ = std::move(listening).value();
    thread_ = std::thread([this] {
      server_->run({.answer = [this](const Request& request,
                                     std::stop_token stop) { return answer(request, stop); },
                    .lane =
                        [](const Request& r) {
                          return r.target.starts_with("/slow") ? Lane::kQuery : Lane::kPicture;
                        }});
    });
  }
  void TearDown() override {
    server_->stop();
    thread_.join();
  }

  Response answer(const Request& request, const std::stop_token& stop) {
    if (request.target == "/throw") throw std::runtime_error("out of something");
    if (request.target == "/slow") {
      started_.count_down();
      while (!stop.stop_requested()) std::this_thread::yield();
      stopped_.count_down();
    }
    Response response;
    response.body = request.target + "|" + std::to_string(request.hosts.size()) + "|" +
                    request.body + "|" +
                    std::string(request.target == "/big" ? 3'000'000 : 0, 'x') + "end";
    return response;
  }

  std::string exchange(std::string_view request) {
    Socket socket(server_->port());
    socket.send(request);
    return socket.readAll();
  }

  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
  std::latch started_{1};
  std::latch stopped_{1};
};

TEST_F(HttpServerTest, KeepsAConnectionForSeveralRequests) {
  Socket socket(server_->port());
  socket.send("GET /one HTTP/1.1\r\nHost: h\r\n\r\n");
  std::string first = socket.readUntil("end");
  EXPECT_NE(first.find("HTTP/1.1 200"), std::string::npos);
  EXPECT_NE(first.find("/one|1||end"), std::string::npos);
  EXPECT_NE(first.find("X-Content-Type-Options: nosniff"), std::string::npos);
  EXPECT_NE(first.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(first.find("Cross-Origin-Opener-Policy: same-origin"), std::string::npos);
  EXPECT_NE(first.find("Cache-Control: no-store"), std::string::npos);
  EXPECT_NE(first.find("Referrer-Policy: no-referrer"), std::string::npos);
  socket.send("POST /two HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody");
  EXPECT_NE(socket.readUntil("end").find("/two|1|body|end"), std::string::npos);
}

TEST_F(HttpServerTest, AnswersRequestsSentTogetherInOrder) {
  std::string both = exchange(
      "GET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  size_t a = both.find("/a|");
  size_t b = both.find("/b|");
  ASSERT_NE(a, std::string::npos);
  ASSERT_NE(b, std::string::npos);
  EXPECT_LT(a, b);
}

TEST_F(HttpServerTest, SendsLargeAnswersWhole) {
  std::string text = exchange("GET /big HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_GT(text.size(), 3'000'000u);
  EXPECT_TRUE(text.ends_with("xend"));
}

TEST_F(HttpServerTest, AHeadHasNoBody) {
  std::string text = exchange("HEAD /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_NE(text.find("Content-Length: 9"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\r\n\r\n"));
}

TEST_F(HttpServerTest, ReportsEveryHostHeader) {
  std::string text = exchange("GET /x HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n");
  EXPECT_NE(text.find("/x|2|"), std::string::npos);
}

TEST_F(HttpServerTest, RefusesMalformedRequests) {
  const std::string host = "Host: h\r\n";
  for (const std::string& request : std::vector<std::string>{
           std::string("GARBAGE\r\n\r\n"),
           "GET /x HTTP/9.9\r\n" + host + "\r\n",
           "GET /x HTTP/1.1\nHost: h\n\n",
           "GET /x HTTP/1.1\r\nHost : h\r\n\r\n",
           "GET /x y HTTP/1.1\r\n" + host + "\r\n",
           "POST /x HTTP/1.1\r\n" + host + "Content-Length: 4\r\nContent-Length: 5\r\n\r\nbody",
           "POST /x HTTP/1.1\r\n" + host + "Content-Length: -4\r\n\r\nbody",
           "POST /x HTTP/1.1\r\n" + host +
               "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           "POST /x HTTP/1.1\r\n" + host +
               "Transfer-Encoding: chunked\r\n\r\n-2\r\nab\r\n0\r\n\r\n",
           "POST /x HTTP/1.1\r\n" + host + "Content-Length: 99999999\r\n\r\n",
           "GET /" + std::string(40'000, 'a') + " HTTP/1.1\r\n" + host + "\r\n",
           "GET /x HTTP/1.1\r\nX: " + std::string(40'000, 'a') + "\r\n\r\n",
           std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + "\r\n\r\n",
       }) {
    std::string text = exchange(request);
    EXPECT_TRUE(text.empty() || text.starts_with("HTTP/1.1 4")) << request.substr(0, 60) << text;
    EXPECT_EQ(text.find("200 OK"), std::string::npos) << request.substr(0, 60);
  }
  EXPECT_NE(exchange("GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").find("200 OK"),
            std::string::npos)
      << "and it still answers";
}

TEST_F(HttpServerTest, AFailureEndsOneRequestOnly) {
  std::string text = exchange("GET /throw HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(text.starts_with("HTTP/1.1 500")) << text;
  EXPECT_NE(exchange("GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").find("200 OK"),
            std::string::npos);
}

TEST_F(HttpServerTest, GoingAwayStopsASlowAnswer) {
  {
    Socket socket(server_->port());
    socket.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n");
    started_.wait();
  }
  stopped_.wait();  // the test hangs, and is ended, if the handler is not notified
}

TEST_F(HttpServerTest, SlowAnswersDoNotDelayOthers) {
  Socket slow[4] = {Socket(server_->port()), Socket(server_->port()), Socket(server_->port()),
                    Socket(server_->port())};
  slow[0].send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n");
  started_.wait();
  EXPECT_NE(exchange("GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").find("200 OK"),
            std::string::npos);
}

TEST_F(HttpServerTest, StalledClientsDoNotDelayOthers) {
  std::vector<std::unique_ptr<Socket>> stalled;
  for (int i = 0; i < 50; ++i) {
    stalled.push_back(std::make_unique<Socket>(server_->port()));
    stalled.back()->send("GET /stalled HTTP/1.1\r\nHo");
  }
  EXPECT_NE(exchange("GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").find("200 OK"),
            std::string::npos);
}

TEST(HttpServer, WhatHasNotBegunWhenItsClientLeavesIsNotBegun) {
  auto server = std::move(HttpServer::listen(0)).value();
  std::latch held(2), released(1);
  std::atomic<int> begun_late = 0;
  std::thread thread([&] {
    server->run(
        {.answer =
             [&](const Request& request, const std::stop_token&) {
               if (request.target == "/held") {
                 held.count_down();
                 released.wait();
               }
               if (request.target == "/late") ++begun_late;
               Response response;
               response.body = "end";
               return response;
             },
         .lane =
             [](const Request& r) { return r.target == "/now" ? Lane::kPicture : Lane::kQuery; }});
  });
  const std::string rest = " HTTP/1.1\r\nHost: h\r\n\r\n";
  Socket first(server->port()), second(server->port()), last(server->port());
  first.send("GET /held" + rest);
  second.send("GET /held" + rest);
  held.wait();  // both threads of the lane are busy
  {
    Socket leaves(server->port());
    leaves.send("GET /late" + rest);
    Socket now(server->port());
    now.send("GET /now" + rest);
    now.readUntil("end");  // so the server has read /late, too
  }
  last.send("GET /last" + rest);  // after /late in the queue
  Socket now(server->port());
  now.send("GET /now" + rest);
  now.readUntil("end");  // so the server has noticed who left
  released.count_down();
  EXPECT_NE(last.readUntil("end").find("200 OK"), std::string::npos);
  server->stop();
  thread.join();
  EXPECT_EQ(begun_late, 0);
}

TEST(HttpServer, StopsWhileAnAnswerIsComputed) {
  auto server = std::move(HttpServer::listen(0)).value();
  std::latch started(1);
  std::thread thread([&] {
    server->run({.answer =
                     [&](const Request&, std::stop_token stop) {
                       started.count_down();
                       while (!stop.stop_requested()) std::this_thread::yield();
                       return Response();
                     },
                 .lane = [](const Request&) { return Lane::kQuery; }});
  });
  Socket socket(server->port());
  socket.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  started.wait();
  server->stop();
  thread.join();
}

TEST(HttpServer, SaysWhenAPortIsTaken) {
  auto first = std::move(HttpServer::listen(0)).value();
  auto second = HttpServer::listen(first->port());
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().what.find("is in use"), std::string::npos);
  EXPECT_EQ(second.error().kind, base::ErrorKind::kUsage);
}

}  // namespace
}  // namespace tidegauge::server
