package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// The faults. A fault is the content of a file in DIR/faults; the file's name is the UID of the Pod that it concerns, or `node`.
// Removing the file repairs it.
const (
	// busy: umount answers that the target is busy.
	busy = "busy"
	// busyChinese: the same where the kubelet runs under LC_ALL=zh_CN.UTF-8.
	busyChinese = "busy-zh"
	// stale: umount answers that the file handle is stale.
	stale = "stale"
	// hang: umount does not return, and cannot be killed.
	hang = "hang"
	// hangKillable: umount does not return until it is killed; then `umount -f` works.
	hangKillable = "hang-killable"
	// leftover: a file lies below the mount point of a subPath.
	leftover = "leftover"
	// kill: the runtime cannot kill the containers, and says so.
	kill = "kill"
	// unkillable: the runtime does not answer when it is to stop a container.
	unkillable = "unkillable"
	// network: the runtime cannot take down the network of the sandbox.
	network = "network"
	// unpublish: the CSI driver refuses NodeUnpublishVolume.
	unpublish = "unpublish"
	// unpublishHang: the CSI driver does not answer NodeUnpublishVolume.
	unpublishHang = "unpublish-hang"
	// unprepare: the DRA driver of a resource claim does not answer.
	unprepare = "unprepare"
	// cgroup: the cgroup of the Pod cannot be removed.
	cgroup = "cgroup"
	// unregistered: the CSI driver is not registered on the node. For `node` only.
	unregistered = "unregistered"
	// unavailable: the CSI driver is registered, and nobody answers on its socket. For `node` only.
	unavailable = "unavailable"
)

// machine is the name in DIR/faults for what concerns the whole node.
const machine = "node"

// poll is the period at which a hanging operation looks whether its fault is repaired.
const poll = 100 * time.Millisecond

// faultOf reads the fault of a Pod or of the node; empty without one.
func faultOf(dir, subject string) string {
	content, err := os.ReadFile(filepath.Join(dir, "faults", subject))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		panic(err)
	}
	return strings.TrimSpace(string(content))
}

// waitForRepair returns when a subject has another fault, or none.
func waitForRepair(dir, subject, fault string) {
	for faultOf(dir, subject) == fault {
		time.Sleep(poll)
	}
}

var podDirectory = regexp.MustCompile(`/pods/([0-9a-f-]{36})/`)

// podOf finds the UID of the Pod that a path below the kubelet's root directory belongs to.
func podOf(path string) string {
	if found := podDirectory.FindStringSubmatch(path); found != nil {
		return found[1]
	}
	return machine
}
