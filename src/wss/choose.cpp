#include "wss/choose.h"

#include "wss/smaps_backend.h"
#ifdef TIDEGAUGE_BPF
#include "wss/pte_backend.h"
#endif

namespace tidegauge::wss {
namespace {

base::Result<std::unique_ptr<Backend>> makePte(Flush flush) {
#ifdef TIDEGAUGE_BPF
  TG_ASSIGN_OR_RETURN(PageTables tables, PageTables::open());
  return std::unique_ptr<Backend>(std::make_unique<PteBackend>(std::move(tables), flush));
#else
  (void)flush;
  return base::Error{base::ErrorKind::kMissingFeature,
                     "this build has no BPF programs, which read page tables", std::nullopt,
                     "They need clang, libbpf and x86-64"};
#endif
}

}  // namespace

base::Result<Choice> chooseBackend(const std::string& name, bool needs_sharing) {
  Flush flush = flushOfThisKernel();
  Choice choice;
  if (name == "pte" || (name == "auto" && !needs_sharing)) {
    auto pte = makePte(flush);
    if (!pte.ok() && name == "pte") return std::move(pte.error());
    if (pte.ok())
      choice.backend = std::move(pte.value());
    else
      choice.why_not_first = pte.error().what;
  }
  if (choice.backend == nullptr) choice.backend = std::make_unique<SmapsBackend>(flush);
  return choice;
}

}  // namespace tidegauge::wss
