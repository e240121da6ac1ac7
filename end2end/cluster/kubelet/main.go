// The kubelet of Kubernetes on a machine that fails on demand. Pod workers, volume manager, status manager and server are the
// original, wired as in kubemark's hollow node. Around it are stand-ins: the programs mount and umount, the container
// runtime, and one CSI driver; cgroups and devices do not exist. Each fails as a file in DIR/faults says; see fault.go.
//
//	kubelet --kubeconfig FILE --name NODE --dir DIR --port PORT
//
// It runs on Linux, and needs neither root nor a container runtime. Its Node has to exist, with the address at which the API
// server reaches it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register"
	"k8s.io/component-base/version"
	remote "k8s.io/cri-client/pkg"
	"k8s.io/klog/v2"
	kubeletapp "k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/kubelet"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	cadvisor "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
	"k8s.io/kubernetes/pkg/kubemark"
	"k8s.io/kubernetes/pkg/volume/util/subpath"
)

type options struct {
	kubeconfig   string
	name         string
	dir          string
	port         int
	log          string
	logFormat    string
	logHandler   bool
	logQuery     bool
	authenticate bool
}

func main() {
	if command, ok := commands[filepath.Base(os.Args[0])]; ok {
		os.Exit(command(os.Args[1:]))
	}
	var o options
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "`file` with the address of the API server and a token")
	flag.StringVar(&o.name, "name", "", "name of the Node")
	flag.StringVar(&o.dir, "dir", "", "`directory` of its files; has to be empty")
	flag.IntVar(&o.port, "port", 10250, "port of its server on 127.0.0.1")
	flag.StringVar(&o.log, "log", "", "`file` that stderr is written to, for queries of the log")
	flag.StringVar(&o.logFormat, "logging-format", "text", "text or json")
	flag.BoolVar(&o.logHandler, "system-log-handler", true, "enableSystemLogHandler of its configuration")
	flag.BoolVar(&o.logQuery, "system-log-query", false, "enableSystemLogQuery of its configuration")
	flag.BoolVar(&o.authenticate, "authenticate", false, "authenticate and authorise requests to its server")
	flag.Parse()
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "kubelet:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	root := filepath.Join(o.dir, "root")
	flags, configuration := kubemark.GetHollowKubeletConfig(&kubemark.HollowKubeletOptions{NodeName: o.name, KubeletPort: o.port, MaxPods: 110})
	if err := os.Remove(configuration.PodLogsDir); err != nil {
		return err
	}
	if err := os.RemoveAll(flags.RootDirectory); err != nil {
		return err
	}
	flags.RootDirectory = root
	flags.CertDirectory = filepath.Join(o.dir, "pki")
	flags.CloudProvider = "external" // the addresses of the Node are given
	configuration.Address = "127.0.0.1"
	configuration.StaticPodPath = ""
	configuration.ClusterDNS = []string{"10.0.0.10"}
	configuration.CgroupsPerQOS = true
	configuration.PodLogsDir = filepath.Join(o.dir, "pods")
	configuration.EnableControllerAttachDetach = true
	configuration.EnableSystemLogHandler = o.logHandler
	configuration.EnableSystemLogQuery = o.logQuery
	configuration.EvictionHard, configuration.LocalStorageCapacityIsolation = nil, false // there is no file system to measure
	configuration.NodeLeaseDurationSeconds = 8                                           // the controller manager of the test waits for 8 s
	configuration.NodeStatusUpdateFrequency.Duration = 2 * time.Second
	configuration.Logging.Format = o.logFormat
	configuration.Logging.Verbosity = 2
	if err := logsapi.ValidateAndApply(&configuration.Logging, utilfeature.DefaultFeatureGate); err != nil {
		return err
	}
	logs.InitLogs()
	defer logs.FlushLogs()
	klog.InfoS("Kubelet version", "kubeletVersion", version.Get())
	if err := replacePrograms(o.dir, o.log); err != nil {
		return err
	}

	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = float32(configuration.KubeAPIQPS), int(configuration.KubeAPIBurst)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	runtime, err := startRuntime(o.dir)
	if err != nil {
		return err
	}
	timeout := configuration.RuntimeRequestTimeout.Duration
	runtimeService, err := remote.NewRemoteRuntimeService(ctx, runtime, timeout, noop.NewTracerProvider(), false)
	if err != nil {
		return err
	}
	imageService, err := remote.NewRemoteImageService(ctx, runtime, timeout, noop.NewTracerProvider(), false)
	if err != nil {
		return err
	}
	hollow := kubemark.NewHollowKubelet(flags, configuration, client, client, &cadvisor.Fake{NodeName: o.name}, imageService, runtimeService, newContainerManager(o.dir))
	dependencies := hollow.KubeletDeps
	mounter := newMounter(o.dir)
	dependencies.Mounter = mounter
	dependencies.Subpather = subpath.New(mounter)
	dependencies.HostUtil = newHost(mounter)
	dependencies.ProbeManager = nil // the kubelet makes its own
	dependencies.TracerProvider = &recorderSwitch{noop.NewTracerProvider(), dependencies, newRecorder(ctx, o.name, client)}
	if dependencies.TLSOptions, err = kubeletapp.InitializeTLS(ctx, flags, configuration); err != nil {
		return err
	}
	if o.authenticate {
		configuration.Authentication.Anonymous.Enabled = false
		configuration.Authentication.Webhook.Enabled = true
		configuration.Authorization.Mode = kubeletconfig.KubeletAuthorizationModeWebhook
		auth, start, err := kubeletapp.BuildAuth(types.NodeName(o.name), client, *configuration)
		if err != nil {
			return err
		}
		start(ctx.Done())
		dependencies.Auth = auth
	}
	driver := csiDriver{dir: o.dir, node: o.name}
	go driver.run(root)
	hollow.Run(ctx)
	return nil
}

// recorderSwitch gives the kubelet its recorder of events late. The kubelet watches the kernel's log, which a container may not
// read, unless its recorder is client-go's fake at that moment. It asks for its tracer right after it.
type recorderSwitch struct {
	trace.TracerProvider
	dependencies *kubelet.Dependencies
	recorder     record.EventRecorderLogger
}

func (s *recorderSwitch) Tracer(name string, options ...trace.TracerOption) trace.Tracer {
	s.dependencies.Recorder = s.recorder
	return s.TracerProvider.Tracer(name, options...)
}

// newRecorder makes the recorder that makeEventRecorder in cmd/kubelet/app/server.go makes.
func newRecorder(ctx context.Context, node string, client kubernetes.Interface) record.EventRecorderLogger {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartStructuredLogging(3)
	broadcaster.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	return broadcaster.NewRecorder(legacyscheme.Scheme, v1.EventSource{Component: "kubelet", Host: node})
}
