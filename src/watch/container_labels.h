// The pod and the container of a process, from the path of its cgroup.
//
//   …/kubepods-burstable-pod3f2a…_9c1d.slice/cri-containerd-8d1f….scope   pod 3f2a…-9c1d, 8d1f…
//   /kubepods/burstable/pod3f2a…-9c1d/8d1f…                               the same, by cgroupfs
//   /system.slice/docker-8d1f….scope, /docker/8d1f…, …/libpod-8d1f….scope no pod, 8d1f…
//   /user.slice/session-3.scope                                           neither
//
// Source: kubelet, pkg/kubelet/cm/cgroup_manager_linux.go; the naming of containerd, CRI-O, Docker
// and Podman.
#pragma once

#include <string>
#include <string_view>

namespace tidegauge::watch {

struct ContainerLabels {
  std::string pod;        // its uid, with hyphens; empty: none
  std::string container;  // its id of 64 hexadecimal digits; empty: none
};

// `cgroup`: a path, or the lines of /proc/PID/cgroup.
ContainerLabels containerLabelsOf(std::string_view cgroup);

}  // namespace tidegauge::watch
