// The transport: HTTP/1.1 on loopback. One thread moves bytes; answers are computed on a few
// others, slow ones (SQL) on their own, so that a long query never delays a picture.
//
//   accept ─► read (limits, timeouts) ─► handler on a pool thread ─► write ─► next request
//                                           └ the client went away: the stop token is set
//
// Malformed, oversized and slow requests end their connection, nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "server/message.h"

namespace tidegauge::server {

struct Handler {
  std::function<Response(const Request&, std::stop_token)> answer;
  std::function<bool(const Request&)> is_slow;
};

class HttpServer {
 public:
  // Binds 127.0.0.1; port 0 takes a free one. Connections wait until run().
  static base::Result<std::unique_ptr<HttpServer>> listen(uint16_t port);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  uint16_t port() const;
  // Answers until stop(), or until SIGINT or SIGTERM if `until_signal`.
  void run(Handler handler, bool until_signal);
  void stop();  // from any thread

  struct Parts;  // in http_server.cpp

 private:
  explicit HttpServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace tidegauge::server
