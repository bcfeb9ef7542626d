// Growing recordings for the page: which of them a session shows, and their states.
#pragma once

#include "server/http/json.h"
#include "server/session/session.h"

namespace tidegauge::server {

// Index of the recording that contains the file's process; null: none.
json recordingOf(const Session& session, const OpenFile& file);
json recordingsJson(const Session& session);

}  // namespace tidegauge::server
