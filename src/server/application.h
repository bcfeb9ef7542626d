// The answers: from a request that may come in to JSON, a picture or a file of the page.
//
//   GET /TOKEN/                the page
//   GET /TOKEN/api/tile?…      docs/formats/page-api.md lists them all
//
// Thread-safe: the traces are read-only, what is computed once locks itself.
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
  // Who asks without `gen` is answered from the newest session. The one before is kept for who has
  // not seen that there is a newer one; the one that nobody may ask for any more is returned.
  std::shared_ptr<Session> replace(Session next);
  std::shared_ptr<Session> current() const;
  // Held from current() to replace() by whoever makes a session out of the current one.
  std::mutex& changing() { return changing_; }
  // What takes long does not get a thread that draws.
  Lane lane(const Request& request) const;

 private:
  Response answerBelow(const Request& request, std::stop_token stop);

  // The newest in which `file` has the generation that is asked for; null: none has, or no longer.
  std::shared_ptr<Session> sessionOf(const Params& params, const char* generation) const;

  static constexpr size_t kKept = 2;
  std::mutex changing_;
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<Session>> sessions_;  // newest first
  Gate gate_;
};

}  // namespace tidegauge::server
