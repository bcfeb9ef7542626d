// The transport: HTTP/1.1 on loopback. One thread moves bytes. Other threads compute answers,
// separately for each lane (pictures, texts, queries), so that neither a long query nor a search
// delays a picture.
//
//   accept ─► read (limits, timeouts) ─► handler on its lane ─► write ─► next request
//                                           └ the client closed: the stop token is set, and an
//                                             answer that has not begun is not computed
//
// Malformed, oversized and slow requests only end their connection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "server/http/message.h"

namespace tidegauge::server {

struct Handler {
  std::function<Response(const Request&, std::stop_token)> answer;
  std::function<Lane(const Request&)> lane;
  bool may_be_framed = false;  // by pages of any site
};

class HttpServer {
 public:
  // Binds 127.0.0.1; port 0 selects a free one. Connections wait until run().
  static base::Result<std::unique_ptr<HttpServer>> listen(uint16_t port);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  uint16_t port() const;
  // Answers until stop(), then waits for unfinished answers.
  void run(Handler handler);
  // From here on SIGINT and SIGTERM end runUntilSignal(), also if they come before it. Call this
  // before anyone learns that the server is there.
  void stopAtSignals();
  // Answers until SIGINT or SIGTERM, and returns which. Does not wait for unfinished answers: their
  // data must live until the process ends, so the caller should end it at once.
  int runUntilSignal(Handler handler);
  void stop();  // from any thread

  struct Parts;  // in http_server.cpp

 private:
  void serve(Handler handler);
  explicit HttpServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace tidegauge::server
