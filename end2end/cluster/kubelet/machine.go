package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm"
)

// containerManager is kubemark's, without cgroups and devices, except that two of its steps fail on demand with the errors of
// pkg/kubelet/cm/dra/manager.go and pkg/kubelet/cm/pod_container_manager_linux.go.
type containerManager struct {
	cm.ContainerManager
	dir string
}

func newContainerManager(dir string) *containerManager {
	return &containerManager{cm.NewStubContainerManager(), dir}
}

func (m *containerManager) UnprepareDynamicResources(ctx context.Context, pod *v1.Pod) error {
	if faultOf(m.dir, string(pod.UID)) == unprepare {
		return errors.New("NodeUnprepareResources: rpc error: code = Unavailable desc = connection error: desc = \"transport: " +
			"Error while dialing: dial unix /var/lib/kubelet/plugins/gpu.example.com/dra.sock: connect: connection refused\"")
	}
	return m.ContainerManager.UnprepareDynamicResources(ctx, pod)
}

func (m *containerManager) NewPodContainerManager() cm.PodContainerManager {
	return &podCgroups{m.ContainerManager.NewPodContainerManager(), m.dir}
}

type podCgroups struct {
	cm.PodContainerManager
	dir string
}

func (*podCgroups) GetPodContainerName(pod *v1.Pod) (cm.CgroupName, string) {
	return cm.CgroupName{"kubepods", "besteffort", "pod" + string(pod.UID)}, ""
}

func (c *podCgroups) Destroy(logger klog.Logger, name cm.CgroupName) error {
	pod := strings.TrimPrefix(name[len(name)-1], "pod")
	if faultOf(c.dir, pod) == cgroup {
		slice := "kubepods-besteffort-pod" + strings.ReplaceAll(pod, "-", "_") + ".slice"
		return fmt.Errorf("failed to delete cgroup paths for %v : unable to destroy cgroup paths for cgroup %v : "+
			"Timed out while waiting for systemd to remove %s", name, name, slice)
	}
	return c.PodContainerManager.Destroy(logger, name)
}
