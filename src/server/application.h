// Answers requests: checks them, and returns JSON, a picture or a file of the page.
//
//   GET /TOKEN/                the page
//   GET /TOKEN/api/tile?…      docs/formats/page-api.md lists them all
//
// Thread-safe: the traces are read-only, and cached results have their own locks.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "server/http/gate.h"
#include "server/http/params.h"
#include "server/session/session.h"

namespace tidegauge::server {

class Application {
 public:
  Application(Session session, Gate gate);

  Response answer(const Request& request, std::stop_token stop);
  // Requests without `gen` use the newest session. The previous one is kept for clients that do not
  // know of the newer one yet. Returns the session that can no longer be requested.
  std::shared_ptr<Session> replace(Session next);
  std::shared_ptr<Session> current() const;
  // Hold it from current() to replace() to derive a session from the current one.
  std::mutex& changing() { return changing_; }
  // Slow answers do not get a thread that draws.
  Lane lane(const Request& request) const;

 private:
  Response answerBelow(const Request& request, std::stop_token stop);

  // The newest session in which `file` has the requested generation; null: none, or no longer.
  std::shared_ptr<Session> sessionOf(const Params& params, const char* generation) const;

  static constexpr size_t kKept = 2;
  std::mutex changing_;
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<Session>> sessions_;  // newest first
  Gate gate_;
};

}  // namespace tidegauge::server
