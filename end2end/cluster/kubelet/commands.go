package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"k8s.io/mount-utils"
)

// These variables tell the programs that the kubelet executes where its files are.
const (
	dirVariable = "UNWIND_KUBELET_DIR"
	logVariable = "UNWIND_KUBELET_LOG"
	// secondVariable is set for the second program of a hanging umount.
	secondVariable = "UNWIND_KUBELET_SECOND"
)

// commands are the programs that this one is, too, when it is executed under their name.
var commands = map[string]func([]string) int{
	"mount":      mountCommand,
	"umount":     umountCommand,
	"journalctl": journalctlCommand,
}

// replacePrograms makes the kubelet find these programs before those of the machine.
func replacePrograms(dir, log string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	bin := filepath.Join(dir, "bin")
	for _, directory := range []string{bin, filepath.Join(dir, "faults")} {
		if err := os.MkdirAll(directory, 0o700); err != nil {
			return err
		}
	}
	for name := range commands {
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	if err := os.WriteFile(tableFile(dir), nil, 0o600); err != nil {
		return err
	}
	if err := os.Setenv("PATH", bin+":"+os.Getenv("PATH")); err != nil {
		return err
	}
	if err := os.Setenv(logVariable, log); err != nil {
		return err
	}
	return os.Setenv(dirVariable, dir)
}

// tableFile holds the mounts in the format of /proc/mounts.
func tableFile(dir string) string { return filepath.Join(dir, "mounts") }

// editTable replaces the table of mounts while no other program does.
func editTable(edit func([]mount.MountPoint) []mount.MountPoint) error {
	path := tableFile(os.Getenv(dirVariable))
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	points, err := mount.ListProcMounts(path)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, point := range edit(points) {
		fmt.Fprintf(&text, "%s %s %s %s 0 0\n", point.Device, point.Path, point.Type, strings.Join(point.Opts, ","))
	}
	fresh := path + ".new"
	if err := os.WriteFile(fresh, []byte(text.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, path)
}

// mountCommand is `mount [--no-canonicalize] [-t TYPE] [-o OPTIONS] SOURCE TARGET`.
func mountCommand(arguments []string) int {
	var kind string
	var options, paths []string
	for i := 0; i < len(arguments); i++ {
		switch argument := arguments[i]; {
		case argument == "-t":
			i++
			kind = arguments[i]
		case argument == "-o":
			i++
			options = append(options, strings.Split(arguments[i], ",")...)
		case !strings.HasPrefix(argument, "-"):
			paths = append(paths, argument)
		}
	}
	source, target := paths[0], filepath.Clean(paths[1])
	if link, err := os.Readlink(source); err == nil {
		source = link // of a descriptor: /proc/1/fd/2
	}
	has := func(option string) bool {
		for _, it := range options {
			if it == option {
				return true
			}
		}
		return false
	}
	if has("remount") {
		return 0
	}
	err := editTable(func(points []mount.MountPoint) []mount.MountPoint {
		if has("bind") {
			kind = kindOf(points, source)
		}
		if len(options) == 0 {
			options = []string{"rw"}
		}
		return append(points, mount.MountPoint{Device: source, Path: target, Type: kind, Opts: options})
	})
	if err != nil {
		fmt.Fprintf(os.Stderr, "mount: %s: %v.\n", target, err)
		return 32
	}
	return 0
}

// kindOf finds the type of the file system that a path is on.
func kindOf(points []mount.MountPoint, path string) string {
	kind, longest := "ext4", ""
	for _, point := range points {
		if mount.PathWithinBase(path, point.Path) && len(point.Path) > len(longest) {
			kind, longest = point.Type, point.Path
		}
	}
	return kind
}

// umountCommand is `umount [-f] TARGET`. It fails with the words and exit statuses of util-linux 2.38, and for NFS with those
// of its helper umount.nfs4 of nfs-utils 2.6.
func umountCommand(arguments []string) int {
	dir := os.Getenv(dirVariable)
	target := filepath.Clean(arguments[len(arguments)-1])
	points, err := mount.ListProcMounts(tableFile(dir))
	if err != nil {
		fmt.Fprintf(os.Stderr, "umount: %s: %v.\n", target, err)
		return 32
	}
	mounted := find(points, target)
	if mounted == nil {
		fmt.Fprintf(os.Stderr, "umount: %s: not mounted.\n", target)
		return 32
	}
	pod := podOf(target)
	fault := faultOf(dir, pod)
	if mounted.Type == "tmpfs" {
		fault = "" // tokens and Secrets are in memory
	}
	forced := arguments[0] == "-f"
	switch fault {
	case busy, busyChinese, stale:
		if strings.HasPrefix(mounted.Type, "nfs") {
			reason := map[string]string{busy: "device is busy", busyChinese: "device is busy", stale: "Stale file handle"}[fault]
			fmt.Fprintf(os.Stderr, "umount.nfs4: %s: %s\n", target, reason)
			return 16
		}
		reason := map[string]string{busy: "target is busy", busyChinese: "目标忙", stale: "Stale file handle"}[fault]
		fmt.Fprintf(os.Stderr, "umount: %s: %s.\n", target, reason)
		return 32
	case hang:
		// Who has to kill this program waits for its output, too, which a second one keeps open: as good as state D.
		if os.Getenv(secondVariable) == "" {
			second := exec.Command(os.Args[0], arguments...)
			second.Env = append(os.Environ(), secondVariable+"=1")
			second.Stdout, second.Stderr = os.Stdout, os.Stderr
			if err := second.Run(); err != nil {
				return second.ProcessState.ExitCode()
			}
			return 0
		}
		waitForRepair(dir, pod, fault)
	case hangKillable:
		if !forced {
			waitForRepair(dir, pod, fault)
		}
	}
	err = editTable(func(points []mount.MountPoint) []mount.MountPoint {
		for i := len(points) - 1; i >= 0; i-- {
			if points[i].Path == target {
				return append(points[:i], points[i+1:]...)
			}
		}
		return points
	})
	if err == nil {
		err = hideContent(target)
	}
	if err == nil && fault == leftover && strings.Contains(target, "/volume-subpaths/") {
		err = os.WriteFile(filepath.Join(target, "leftover"), nil, 0o600)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "umount: %s: %v.\n", target, err)
		return 32
	}
	return 0
}

// hideContent removes what was written to a mount point: it was in the file system that has just gone.
func hideContent(target string) error {
	entries, err := os.ReadDir(target)
	if err != nil {
		return nil // a file, or nothing
	}
	for _, entry := range entries {
		if err := os.RemoveAll(filepath.Join(target, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

var (
	// klogTime is at the beginning of a line of klog's text format: `E1231 23:59:59.123456`.
	klogTime = regexp.MustCompile(`^[IWEF](\d{4} \d\d:\d\d:\d\d\.\d{6})`)
	// jsonTime is in a line of klog's JSON format, in milliseconds.
	jsonTime = regexp.MustCompile(`^{"ts":(\d+)\.`)
)

// journalctlCommand prints the kubelet's log as systemd's journal would: each line with time, host and process.
// It knows the options that the kubelet gives, see pkg/kubelet/kubelet_server_journal_linux.go.
func journalctlCommand(arguments []string) int {
	dir := os.Getenv(dirVariable)
	var since, until time.Time
	var unit string
	var pattern *regexp.Regexp
	lines := -1
	for _, argument := range arguments {
		name, value, _ := strings.Cut(argument, "=")
		var err error
		switch name {
		case "--field", "_SYSTEMD_UNIT":
			fmt.Println("kubelet.service")
			return 0
		case "--since":
			since, err = time.Parse("2006-1-2 15:4:5", value)
		case "--until":
			until, err = time.Parse("2006-1-2 15:4:5", value)
		case "--unit":
			unit = value
		case "--grep":
			pattern, err = regexp.Compile(value)
		case "--lines":
			_, err = fmt.Sscan(value, &lines)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "Failed to parse %s: %v\n", argument, err)
			return 1
		}
	}
	var found []string
	if unit == "kubelet" {
		log, err := os.Open(os.Getenv(logVariable))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer log.Close()
		host := filepath.Base(dir)
		at := time.Now().UTC()
		for scanner := longLines(log); scanner.Scan(); {
			line := scanner.Text()
			at = timeOf(line, at)
			wanted := line != "" && !at.Before(since) && (until.IsZero() || !at.After(until))
			if wanted && (pattern == nil || pattern.MatchString(line)) {
				found = append(found, fmt.Sprintf("%s %s kubelet[%d]: %s", at.Format("Jan 02 15:04:05.000000"), host, os.Getppid(), line))
			}
		}
	}
	if lines >= 0 && len(found) > lines {
		found = found[len(found)-lines:]
	}
	if len(found) == 0 {
		fmt.Println("-- No entries --")
		return 1
	}
	for _, line := range found {
		fmt.Println(line)
	}
	return 0
}

// timeOf reads the time of a line of the log; a line that has none continues the one before.
func timeOf(line string, before time.Time) time.Time {
	if found := klogTime.FindStringSubmatch(line); found != nil {
		at, err := time.ParseInLocation("20060102 15:04:05.000000", fmt.Sprint(time.Now().Year())+found[1], time.Local)
		if err == nil {
			return at.UTC()
		}
	}
	if found := jsonTime.FindStringSubmatch(line); found != nil {
		var milliseconds int64
		if _, err := fmt.Sscan(found[1], &milliseconds); err == nil {
			return time.UnixMilli(milliseconds).UTC()
		}
	}
	return before
}

func longLines(file *os.File) *bufio.Scanner {
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 1<<20)
	return scanner
}
