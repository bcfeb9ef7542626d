// Recordings that grow, for the page: what of them a session shows, and how they stand.
#pragma once

#include "server/http/json.h"
#include "server/session/session.h"

namespace tidegauge::server {

// Index of the recording that the file is a process of; null: of none.
json recordingOf(const Session& session, const OpenFile& file);
json recordingsJson(const Session& session);

}  // namespace tidegauge::server
