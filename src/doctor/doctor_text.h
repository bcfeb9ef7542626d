// The findings of doctor as text (one line each, or wrapped to the page) and as JSON.
//
//   ok       CAP_BPF           held
//   missing  type information  no /sys/kernel/btf/vmlinux: the programs cannot be fitted …
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "doctor/doctor.h"

namespace tidegauge::doctor {

struct Diagnosis {
  MachineFacts facts;
  std::vector<ExaminedLibrary> libraries;
};

std::string diagnosisText(const Diagnosis& diagnosis, size_t columns);
nlohmann::json diagnosisJson(const Diagnosis& diagnosis);

}  // namespace tidegauge::doctor
