// As whom a recording runs: under sudo the command runs as the user who called it, and the files
// are that user's (docs/record/privileges.md).
#pragma once

#include <optional>

#include "cli/record/record_options.h"
#include "record/process/child.h"

namespace tidegauge::cli {

struct RecordIdentity {
  std::optional<record::Caller> caller;  // whom the recorder becomes; none: it stays who it is
  record::ChildSettings child;
};

// States on standard error what differs from what the user may expect. Sets this process's PATH to
// the command's, so that both find the same programs.
RecordIdentity identityFor(const RecordOptions& options);

// --sudo, without the privilege to record: runs the same command line again through sudo, by the
// absolute path of this program. Returns only if that fails: an exit code.
int recordThroughSudo();

}  // namespace tidegauge::cli
