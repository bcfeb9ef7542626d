// Which pod and container a cgroup belongs to.
#include "watch/container_labels.h"

#include <gtest/gtest.h>

namespace tidegauge::watch {
namespace {

const std::string kId(64, 'a');
constexpr const char* kUid = "3f2a1b0c-1111-2222-3333-44445555aaaa";

void expect(const std::string& cgroup, const std::string& pod, const std::string& container) {
  ContainerLabels labels = containerLabelsOf(cgroup);
  EXPECT_EQ(labels.pod, pod) << cgroup;
  EXPECT_EQ(labels.container, container) << cgroup;
}

TEST(ContainerLabels, OfKubernetes) {
  expect(
      "/kubepods.slice/kubepods-burstable.slice/"
      "kubepods-burstable-pod3f2a1b0c_1111_2222_3333_44445555aaaa.slice/cri-containerd-" +
          kId + ".scope",
      kUid, kId);
  expect("/kubepods/besteffort/pod3f2a1b0c-1111-2222-3333-44445555aaaa/" + kId, kUid, kId);
  expect("/kubepods.slice/kubepods-pod3f2a1b0c_1111_2222_3333_44445555aaaa.slice/crio-" + kId +
             ".scope",
         kUid, kId);
  expect("/kubepods/pod3f2a1b0c-1111-2222-3333-44445555aaaa", kUid, "");
}

TEST(ContainerLabels, OfStaticPodsHelpersAndPrefixes) {
  std::string hash(32, 'b');
  expect("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + hash +
             ".slice/cri-containerd-" + kId + ".scope",
         hash, kId);
  expect("/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + hash + ".slice/crio-" + kId,
         hash, kId);
  expect("/machine.slice/crio-conmon-" + kId + ".scope", "", "");
  expect("12:memory:/docker/" + kId + "\n1:name=systemd:/docker/" + kId + "\n", "", kId);
}

TEST(ContainerLabels, OfDockerAndPodman) {
  expect("/system.slice/docker-" + kId + ".scope", "", kId);
  expect("/docker/" + kId, "", kId);
  expect("/machine.slice/libpod-" + kId + ".scope/container", "", kId);
}

TEST(ContainerLabels, OfNeither) {
  expect("", "", "");
  expect("/", "", "");
  expect("/user.slice/user-1000.slice/session-3.scope", "", "");
  expect("/x" + kId, "", "");                        // no separate part
  expect("/" + std::string(63, 'a') + "g", "", "");  // not hexadecimal
  expect("/podium-of-a-hall-with-thirty-six-characters", "", "");
}

}  // namespace
}  // namespace tidegauge::watch
