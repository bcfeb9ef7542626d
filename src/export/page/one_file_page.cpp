#include "export/page/one_file_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/summary.h"
#include "assets/assets.h"
#include "base/base64.h"
#include "base/format.h"
#include "export/page/page_pack.h"
#include "export/page/page_places.h"
#include "export/page/page_pyramid.h"

namespace tidegauge::exporting {
namespace {

using nlohmann::json;

constexpr std::string_view kHeadOpen = R"(<script type="application/octet-stream" id="tgpage">)";
constexpr std::string_view kHeadClose = "</script>\n";
constexpr size_t kHeadRoom = 2048;  // for a page without devices
constexpr size_t kHeadRoomOfDevice = 512;
// Shares of the space left for a device, each of the rest after the one before.
constexpr double kPyramidShare = 0.7;
constexpr double kDetailsShare = 0.6;  // the places get the rest

size_t shareOf(size_t bytes, double share) {
  return static_cast<size_t>(static_cast<double>(bytes) * share);
}

base::Result<json> askJson(const Ask& ask, const std::string& question) {
  TG_ASSIGN_OR_RETURN(std::string body, ask(question));
  json answer = json::parse(body, nullptr, false);
  if (answer.is_discarded()) {
    return base::Error{base::ErrorKind::kLimit, question + " was not answered with JSON", {}, {}};
  }
  return answer;
}

std::string textOf(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// The session, with the devices of the page only, and without the paths of the author's machine.
base::Result<json> sessionOf(const PageQuestion& question) {
  TG_ASSIGN_OR_RETURN(json session, askJson(question.ask, "session"));
  for (json& file : session["files"]) {
    file["path"] = file["name"];
    json kept = json::array();
    for (json& device : file["devices"]) {
      bool is_wanted = std::ranges::any_of(question.devices, [&](const report::Chosen& chosen) {
        return device["ordinal"] == chosen.device->device.ordinal;
      });
      if (is_wanted) kept.push_back(std::move(device));
    }
    file["devices"] = std::move(kept);
  }
  return session;
}

struct Work {
  const report::Chosen& chosen;
  PageDevice page;
  Holders holders;
};

Work workOf(const report::Chosen& chosen) {
  const analysis::DeviceAnalysis& device = *chosen.device;
  Work work{chosen, {}, {}};
  work.page.ordinal = device.device.ordinal;
  work.page.label = analysis::deviceLabel(device.device);
  work.page.events = device.totals.steps();
  analysis::Step last = work.page.events == 0 ? 0 : work.page.events - 1;
  work.page.range = chosen.range.value_or(analysis::StepRange{0, last});
  work.page.whole = work.page.range.first == 0 && work.page.range.last == last;
  work.page.row_level = rowLevelFor(device.totals.peakActive().bytes);
  return work;
}

// The answers about a device that every page contains.
base::Status addCore(const PageQuestion& question, Work& work, PagePack& pack) {
  int32_t ordinal = work.page.ordinal;
  auto add = [&](std::string key) -> base::Status {
    TG_ASSIGN_OR_RETURN(std::string body, question.ask(key));
    pack.add(std::move(key), body);
    return base::okStatus();
  };
  std::string overview = fmt::format("overview?device={}", ordinal);
  TG_ASSIGN_OR_RETURN(json story, askJson(question.ask, overview));
  work.holders = holdersOf(story);
  pack.add(overview, textOf(story));
  TG_RETURN_IF_ERROR(add(fmt::format("annotations?device={}", ordinal)));
  if (work.page.events > 0) {  // web/src/state/answers/device_lines.ts
    TG_RETURN_IF_ERROR(add(fmt::format("lines?axis=step&columns=1024&device={}&x0=0&x1={}", ordinal,
                                       work.page.events)));
  }
  return addFlames(question.ask, question.analysed, *work.chosen.device, work.page.range, pack);
}

base::Status addDevice(const PageQuestion& question, Work& work, SharedStacks& stacks,
                       size_t most_bytes, PagePack& pack) {
  const analysis::DeviceAnalysis& device = *work.chosen.device;
  PageDevice& page = work.page;
  size_t used = pack.htmlBytes();
  auto left = [&] { return most_bytes - std::min(most_bytes, pack.htmlBytes() - used); };
  std::vector<uint32_t> drawn;
  if (page.events > 0) {
    TG_ASSIGN_OR_RETURN(Pyramid pyramid, pyramidOf(question.ask, device, page.range,
                                                   shareOf(left(), kPyramidShare)));
    page.coarsest_level = pyramid.coarsest_level;
    page.finest_level = pyramid.finest_level;
    drawn = std::move(pyramid.drawn);
    pack.append(std::move(pyramid.pack));
  }
  TG_ASSIGN_OR_RETURN(Details details, detailsOf(question.ask, question.analysed, work.holders,
                                                 drawn, stacks, shareOf(left(), kDetailsShare)));
  page.allocations = details.allocations;
  page.allocations_drawn = drawn.size();
  page.least_bytes = details.least_bytes;
  pack.append(std::move(details.pack));
  if (page.events > 0) {
    TG_ASSIGN_OR_RETURN(Places places, placesOf(question.ask, question.analysed, device, page.range,
                                                work.holders, stacks, left()));
    page.places = places.steps;
    pack.append(std::move(places.pack));
  }
  return base::okStatus();
}

json headOf(const PageQuestion& question, const json& session, const std::vector<Work>& works) {
  json devices = json::array();
  for (const Work& work : works) {
    const PageDevice& page = work.page;
    devices.push_back({{"ordinal", page.ordinal},
                       {"from", page.range.first},
                       {"to", page.range.last},
                       {"whole", page.whole},
                       {"coarsest_level", page.coarsest_level},
                       {"finest_level", page.finest_level},
                       {"row_level", page.row_level},
                       {"allocations", page.allocations},
                       {"allocations_drawn", page.allocations_drawn}});
  }
  return {{"version", session.value("version", "")},
          {"written", question.written},
          {"devices", std::move(devices)}};
}

base::Error tooSmall(const PageQuestion& question, std::string_view what) {
  return {base::ErrorKind::kUsage,
          fmt::format("{} does not fit in {} bytes", what, base::withCommas(question.most_bytes)),
          {},
          "Give it more room with --max-size, a shorter range with --from and --until, or one "
          "device with --device."};
}

}  // namespace

base::Result<OneFilePage> oneFilePage(const PageQuestion& question) {
  size_t mark = question.shell.find(assets::kDataMark);
  if (mark == std::string_view::npos) {
    return base::Error{base::ErrorKind::kMissingFeature,
                       "this build has no page in it, so it cannot write one",
                       {},
                       "Configure it with -DTIDEGAUGE_WEB=ON and build again."};
  }
  size_t frame = question.shell.size() + kHeadRoom + question.devices.size() * kHeadRoomOfDevice;
  TG_ASSIGN_OR_RETURN(json session, sessionOf(question));
  PagePack pack;
  pack.add("session", textOf(session));
  std::vector<Work> works;
  for (const report::Chosen& chosen : question.devices) {
    works.push_back(workOf(chosen));
    TG_RETURN_IF_ERROR(addCore(question, works.back(), pack));
    if (frame + pack.htmlBytes() > question.most_bytes) break;
  }
  pack.close();
  if (frame + pack.htmlBytes() > question.most_bytes) return tooSmall(question, "the overview");

  SharedStacks stacks;
  for (size_t i = 0; i < works.size(); ++i) {
    size_t left = question.most_bytes - frame - pack.htmlBytes();
    base::Status added = addDevice(question, works[i], stacks, left / (works.size() - i), pack);
    if (!added.ok() && added.error().kind == base::ErrorKind::kLimit) {
      return tooSmall(question, "a picture of " + works[i].page.label);
    }
    TG_RETURN_IF_ERROR(std::move(added));
  }

  OneFilePage page;
  std::string head = base::base64(textOf(headOf(question, session, works)));
  TG_ASSIGN_OR_RETURN(std::string blocks, pack.html());
  page.html =
      fmt::format("{}{}{}{}{}{}", question.shell.substr(0, mark), kHeadOpen, head, kHeadClose,
                  blocks, question.shell.substr(mark + assets::kDataMark.size()));
  for (Work& work : works) page.devices.push_back(std::move(work.page));
  if (page.html.size() > question.most_bytes) return tooSmall(question, "the page");
  return page;
}

}  // namespace tidegauge::exporting
