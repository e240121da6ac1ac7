package main

import (
	"os"
	"path/filepath"

	"k8s.io/kubernetes/pkg/volume/util/hostutil"
	"k8s.io/mount-utils"
)

// mounter is the kubelet's own, which executes mount and umount. It reads the mounts from the table that these programs keep,
// see commands.go, instead of from the kernel.
type mounter struct {
	*mount.Mounter
	dir string
}

func newMounter(dir string) *mounter {
	return &mounter{mount.NewWithoutSystemd("").(*mount.Mounter), dir}
}

func (m *mounter) List() ([]mount.MountPoint, error) {
	return mount.ListProcMounts(tableFile(m.dir))
}

func (m *mounter) IsMountPoint(path string) (bool, error) {
	if _, err := os.Lstat(path); err != nil {
		return false, err
	}
	points, err := m.List()
	if err != nil {
		return false, err
	}
	return find(points, path) != nil, nil
}

func (m *mounter) IsLikelyNotMountPoint(path string) (bool, error) {
	is, err := m.IsMountPoint(path)
	return err == nil && !is, err
}

func (m *mounter) GetMountRefs(path string) ([]string, error) {
	points, err := m.List()
	if err != nil {
		return nil, err
	}
	references := []string{}
	if mounted := find(points, path); mounted != nil {
		for _, point := range points {
			if point.Device == mounted.Device && point.Path != path {
				references = append(references, point.Path)
			}
		}
	}
	return references, nil
}

// find returns the topmost mount at a path.
func find(points []mount.MountPoint, path string) *mount.MountPoint {
	for i := len(points) - 1; i >= 0; i-- {
		if points[i].Path == filepath.Clean(path) {
			return &points[i]
		}
	}
	return nil
}

// host is the kubelet's view of its machine, which cannot change the propagation of mounts.
type host struct {
	hostutil.HostUtils
	mounter *mounter
}

func newHost(mounter *mounter) *host {
	return &host{hostutil.NewHostUtil(), mounter}
}

func (*host) MakeRShared(string) error { return nil }

func (*host) GetSELinuxSupport(string) (bool, error) { return false, nil }
