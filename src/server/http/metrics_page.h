// GET /metrics: the figures of a monitor, for scrapers on this machine.
//
//   MetricsPage page(server->port(), "text/plain; version=0.0.4");
//   page.show(text);                      // from the thread that records, once a second
//   server->run({page.handler(), …});     // answers with the latest
//
// Without a token every program of this machine can read the figures; with one, only who sends it:
// Prometheus does so with `authorization: {credentials_file: FILE}`. The Host and Origin checks of
// gate.h apply in any case: no page in a browser can read it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "server/http/gate.h"
#include "server/http/http_server.h"

namespace tidegauge::server {

class MetricsPage {
 public:
  // An empty token: none is asked for.
  MetricsPage(uint16_t port, std::string_view content_type, std::string token = {})
      : gate_({}, port), content_type_(content_type), token_(std::move(token)) {}

  void show(std::string text);  // from any thread
  Response answer(const Request& request) const;
  Handler handler() const;

 private:
  Gate gate_;
  std::string_view content_type_;
  bool isAuthorized(std::string_view text) const;

  std::string token_;
  mutable std::mutex mutex_;
  std::string text_;
};

}  // namespace tidegauge::server
